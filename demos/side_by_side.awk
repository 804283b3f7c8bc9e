# Turns rows of `probust estimate --format csv` into a table with one line per point and sigma, one column per estimator, and the
# mean absolute difference of each column from the last one (mc:10000).
NR == 1 { next }
{
  key = $1 "," $6
  if (!(key in seen)) { seen[key] = 1; keys[++lines] = key; label[key] = $2; predicted[key] = $3 }
  if (!($7 in known)) { known[$7] = 1; names[++columns] = $7 }
  p[key, $7] = $8
}
END {
  printf "%6s %6s %10s %6s ", "point", "label", "predicted", "sigma"
  for (c = 1; c <= columns; c++) printf "%12s", names[c]
  printf "\n"
  for (l = 1; l <= lines; l++) {
    key = keys[l]; split(key, at, ",")
    printf "%6s %6s %10s %6s ", at[1], label[key], predicted[key], at[2]
    for (c = 1; c <= columns; c++) {
      value = p[key, names[c]]
      printf "%12.4f", value
      difference = value - p[key, names[columns]]
      total[c] += difference < 0 ? -difference : difference
    }
    printf "\n"
  }
  printf "\n%-31s ", "mean |p - " names[columns] "|"
  for (c = 1; c < columns; c++) printf "%12.4f", total[c] / lines
  printf "\n"
}
