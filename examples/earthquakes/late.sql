-- How many quakes reach their hour's window, by the delay that the watermark allows.
SELECT '${delay} h' AS watermark_delay, SUM(quakes) AS counted, COUNT(*) AS windows
FROM (SELECT COUNT(*) AS quakes
      FROM TABLE(TUMBLE(TABLE quakes, DESCRIPTOR(`time`), INTERVAL '1' HOUR))
      GROUP BY window_start, window_end);
