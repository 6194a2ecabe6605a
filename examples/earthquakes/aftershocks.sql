-- Pairs of a quake of magnitude 5 or more and a later one within 24 hours and 50 km (great-circle distance, haversine formula).
SELECT m.mag AS main_mag, a.mag AS after_mag, a.`time`,
       CAST(2 * 6371 * ASIN(SQRT(POWER(SIN(RADIANS(a.location.lat - m.location.lat) / 2), 2) +
            COS(RADIANS(m.location.lat)) * COS(RADIANS(a.location.lat)) * POWER(SIN(RADIANS(a.location.lon - m.location.lon) / 2), 2)))
            AS DECIMAL(5, 1)) AS km,
       m.place AS main_place
FROM quakes AS m JOIN quakes AS a
  ON a.`time` BETWEEN m.`time` AND m.`time` + INTERVAL '24' HOUR
WHERE m.mag >= 5 AND a.id <> m.id
  AND 2 * 6371 * ASIN(SQRT(POWER(SIN(RADIANS(a.location.lat - m.location.lat) / 2), 2) +
      COS(RADIANS(m.location.lat)) * COS(RADIANS(a.location.lat)) * POWER(SIN(RADIANS(a.location.lon - m.location.lon) / 2), 2))) <= 50
ORDER BY main_mag DESC, `time` LIMIT 10;
