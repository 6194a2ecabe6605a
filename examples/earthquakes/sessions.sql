-- Sessions of activity: quakes of a region (what follows the last comma of the place) with less than six hours between them.
SELECT region, window_start AS began, window_end AS ended, COUNT(*) AS quakes, MAX(mag) AS strongest
FROM TABLE(SESSION(TABLE regions PARTITION BY region, DESCRIPTOR(`time`), INTERVAL '6' HOUR))
GROUP BY region, window_start, window_end
ORDER BY quakes DESC, began LIMIT 8;
