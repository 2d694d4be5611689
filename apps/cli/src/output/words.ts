const units: [string, number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
];

/** Formats a time relative to now: `3 min ago` or `in 3 min`. */
export function formatRelativeTime(time: string | null | undefined, now = Date.now()): string {
  if (!time) return '-';
  const seconds = Math.round((now - Date.parse(time)) / 1000);
  return seconds >= 0 ? `${formatSeconds(seconds)} ago` : `in ${formatSeconds(-seconds)}`;
}

export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '-';
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : formatSeconds(Math.round(ms / 1000));
}

export function formatUsd(amount: number | null | undefined): string {
  return amount === null || amount === undefined
    ? '-'
    : `$${amount.toFixed(amount !== 0 && Math.abs(amount) < 1 ? 4 : 2)}`;
}

function formatSeconds(seconds: number): string {
  const unit = units.find(([, length]) => seconds >= length * 2);
  return unit ? `${Math.floor(seconds / unit[1])} ${unit[0]}` : `${seconds} s`;
}

export function getStatusColor(status: string): 'green' | 'red' | 'yellow' | undefined {
  if (['completed', 'online', 'launched', 'production'].includes(status)) return 'green';
  if (['failed', 'offline', 'terminated'].includes(status)) return 'red';
  return ['running', 'queued', 'starting', 'stopping', 'rebooting', 'draining', 'pilot'].includes(status)
    ? 'yellow'
    : undefined;
}
