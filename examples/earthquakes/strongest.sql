-- The five strongest so far: a running answer, corrected as records arrive.
SELECT pos, mag, `time`, place
FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY mag DESC, `time`) AS pos FROM quakes WHERE mag IS NOT NULL)
WHERE pos <= 5;
