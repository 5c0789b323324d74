"use strict";
// Numbers, times and names as people read them.

const Format = {
  missing: "–",

  count(value) {
    return value == null ? Format.missing : Math.round(value).toLocaleString("en-US");
  },

  // Four significant digits, without an exponent where that stays short.
  number(value, digits = 4) {
    if (value == null || !Number.isFinite(value)) return Format.missing;
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e7 || size < 1e-4) return value.toExponential(digits - 1).replace("e+", "e");
    if (size >= 1000) return Number(value.toPrecision(digits)).toLocaleString("en-US");
    return String(Number(value.toPrecision(digits)));
  },

  // Of an iteration or a pause: "420 µs", "3.14 ms", "1.25 s".
  brief(seconds, digits = 3) {
    if (seconds == null || !Number.isFinite(seconds)) return Format.missing;
    if (seconds === 0) return "0 s";
    if (seconds < 0.001) return Format.number(seconds * 1e6, digits) + " µs";
    if (seconds < 1) return Format.number(seconds * 1e3, digits) + " ms";
    return Format.duration(seconds, digits);
  },

  // Of a job: "12.3 s", "4 min 05 s", "1 h 02 min", "2 d 03 h".
  duration(seconds, digits = 3) {
    if (seconds == null || !Number.isFinite(seconds)) return Format.missing;
    if (seconds < 0) return "−" + Format.duration(-seconds);
    if (seconds < 99.95) return Format.number(seconds, digits) + " s";
    const two = (value) => String(value).padStart(2, "0");
    const whole = Math.round(seconds);
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
    const minutes = Math.round(seconds / 60), hours = Math.floor(minutes / 60);
    if (hours < 48) return `${hours} h ${two(minutes % 60)} min`;
    return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
  },

  dollars(value) {
    if (value == null || !Number.isFinite(value)) return Format.missing;
    if (value === 0) return "$0";
    return "$" + (value < 0.01 ? Format.number(value, 3) : value < 1 ? value.toFixed(4) : value.toFixed(2));
  },

  bytes(value) {
    let unit = 0;
    while (value >= 1024 && unit < 4) (value /= 1024), unit++;
    return Format.number(value, 3) + ["  B", " KiB", " MiB", " GiB", " TiB"][unit].replace("  ", " ");
  },

  percent(share, digits = 3) {
    return share == null || !Number.isFinite(share) ? Format.missing : Format.number(share * 100, digits) + " %";
  },

  // Metrics comes before this script: the program's table of metrics, by name.
  isShare: (metric) => Metrics[metric]?.is_share ?? false,
  isBetterWhenHigh: (metric) => Metrics[metric]?.is_better_when_high ?? false,
  metricTitle: (metric) => Metrics[metric]?.title ?? metric,

  metric(name, value) {
    return Format.isShare(name) ? (value == null ? Format.missing : (value * 100).toFixed(2) + " %") : Format.number(value);
  },

  metricName(split, name) {
    return `${split} ${Format.metricTitle(name)}`;
  },

  configuration(workers, batchSize) {
    return `K ${Format.count(workers)} · B ${Format.count(batchSize)}`;
  },

  interval(low, high, format) {
    return high == null ? `${format(low)} or more` : `${format(low)} to ${format(high)}`;
  },

  plural(count, word) {
    return `${Format.count(count)} ${word}${count === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;
  },

  words(name) {
    return String(name).replaceAll("_", " ");
  },
};

// The unit that a span of seconds is read in.
function timeUnit(span) {
  if (span <= 180) return { seconds: 1, name: "seconds" };
  if (span <= 3 * 3600) return { seconds: 60, name: "minutes" };
  if (span <= 72 * 3600) return { seconds: 3600, name: "hours" };
  return { seconds: 86400, name: "days" };
}
