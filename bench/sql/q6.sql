SELECT seller, AVG(price) OVER (PARTITION BY seller ORDER BY closed ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS avg_price
FROM (SELECT a.seller, a.expires AS closed, b.price,
             ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.`dateTime` ASC) AS pos
      FROM auction AS a JOIN bid AS b ON a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires)
WHERE pos <= 1
