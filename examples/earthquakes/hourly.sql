-- Quakes and the strongest magnitude per hour and network: the busiest hours.
SELECT window_start AS hour_start, net, COUNT(*) AS quakes, MAX(mag) AS strongest
FROM TABLE(TUMBLE(TABLE quakes, DESCRIPTOR(`time`), INTERVAL '1' HOUR))
GROUP BY window_start, window_end, net
ORDER BY quakes DESC, hour_start LIMIT 8;
