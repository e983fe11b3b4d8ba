import { humanDuration } from "../../../lib/base/human-duration.ts";

const binaryUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** "1.5 GiB"; three digits at most, so that columns stay narrow. */
export function formatBytes(bytes: number | undefined): string {
  if (bytes === undefined || !Number.isFinite(bytes)) return "–";
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit < binaryUnits.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${threeDigits(value, unit > 0)} ${binaryUnits[unit]}`;
}

/** Cores: "250m", "1.50". */
export function formatCpu(cores: number | undefined): string {
  if (cores === undefined || !Number.isFinite(cores)) return "–";
  if (cores === 0) return "0";
  if (cores < 0.001) return "<1m";
  if (cores < 0.9995) return `${Math.round(cores * 1000)}m`;
  return threeDigits(cores, true);
}

export function formatRate(bytesPerSecond: number | undefined): string {
  return bytesPerSecond === undefined ? "–" : `${formatBytes(bytesPerSecond)}/s`;
}

export function formatPercent(share: number | undefined): string {
  if (share === undefined || !Number.isFinite(share)) return "–";
  const percent = share * 100;
  return percent > 0 && percent < 0.95 ? `${percent.toFixed(1)}%` : `${Math.round(percent)}%`;
}

/** Formats an age as kubectl does: "45s", "3m12s", "5h3m", "2d4h", "400d", "2y35d". */
export function formatAge(ms: number): string {
  return humanDuration(Math.max(0, ms));
}

/** The duration of a step: "3 ms", "0.42 s", "12.3 s", "4m10s". */
export function formatDuration(seconds: number | undefined): string {
  if (seconds === undefined) return "–";
  if (seconds < 0.01) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return formatAge(seconds * 1000);
}

/** "14:03:07" in the browser's time zone. */
export function formatTime(time: number): string {
  const date = new Date(time);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** "2026-11-17 14:03". */
export function formatDate(time: number): string {
  const date = new Date(time);
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `${day.join("-")} ${formatTime(time).slice(0, 5)}`;
}

/** "1 pod", "3 pods". */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function threeDigits(value: number, fractions: boolean): string {
  if (!fractions || Math.abs(value) >= 99.95) return String(Math.round(value));
  return value.toFixed(Math.abs(value) >= 9.995 ? 1 : 2);
}
