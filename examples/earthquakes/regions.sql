CREATE TEMPORARY VIEW regions AS
SELECT `time`, mag, COALESCE(REGEXP_EXTRACT(place, ', ([^,]+)$', 1), place) AS region FROM quakes WHERE place IS NOT NULL;
