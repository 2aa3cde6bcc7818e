# Figures in tests/test_intervals.py: DeLong's variance by pROC, Newcombe's method 5 and Hall's t by their formulas.
library(pROC)
score <- c(2.1, 0.3, -0.4, 1.2, 0.3, 3.3, -1.0, 0.8, 0.3, -2.2, 1.9, -0.4)
class <- c(1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0)
curve <- roc(class, score, direction = "<", quiet = TRUE)
cat("area", format(as.numeric(auc(curve)), digits = 12), "variance", format(var(curve, method = "delong"), digits = 12), "\n")
curve <- roc(c(1, 1, 1, rep(0, 9)), c(0.9, 0.2, 0.7, 0.1, 0.8, 0.3, 0.2, 0.6, 0.05, 0.4, 0.15, 0.35), direction = "<", quiet = TRUE)
cat("three positives: area", format(as.numeric(auc(curve)), digits = 12), "variance",
    format(var(curve, method = "delong"), digits = 12), "\n")

newcombe <- function(a, m, n, z = qnorm(0.975)) {
  h <- (m + n) / 2 - 1
  f <- function(t) (a - t)^2 - z^2 * t * (1 - t) / (m * n) * (1 + h * (1 - t) / (2 - t) + h * t / (1 + t))
  low <- uniroot(f, c(0, min(a, 1 - 1e-12)), tol = 1e-14)$root
  high <- if (a == 1) 1 else uniroot(f, c(a, 1), tol = 1e-14)$root
  c(low, high)
}
cat("newcombe", format(newcombe(38.5 / 42, 6, 7), digits = 10), format(newcombe(1, 5, 20), digits = 10),
    format(newcombe(0.75, 8, 92), digits = 10), "\n")

hall <- function(x, level = 0.95) {
  n <- length(x)
  s <- sqrt(mean((x - mean(x))^2))
  a <- mean((x - mean(x))^3) / s^3 / sqrt(n)
  t <- qt((1 + level) / 2, n - 1)
  g <- function(v) v + a * v^2 / 3 + a^2 * v^3 / 27 + a / 6  # Hall's transformation, turned round by root finding
  turned <- sapply(c(t, -t), function(q) uniroot(function(v) g(v) - q, c(-100, 100), tol = 1e-13)$root)
  mean(x) - turned * sd(x) / sqrt(n)
}
cat("hall", format(hall(c(0.1, 0.2, 0.05, 2.3, 0.4, 0.15, 1.1, 0.02, 0.3, 0.6)), digits = 10), "\n")
