-- The table that every question reads. Event time is when the ground shook; the order of the file is that of arrival.
CREATE TABLE quakes (
  id STRING,
  `time` TIMESTAMP(3),
  mag DOUBLE,
  place STRING,
  net STRING,
  location ROW<lon DOUBLE, lat DOUBLE, depth DOUBLE>,
  WATERMARK FOR `time` AS `time` - INTERVAL '${delay}' HOUR
) WITH ('connector' = 'filesystem', 'path' = '${folder}/earthquakes.jsonl', 'format' = 'json');
