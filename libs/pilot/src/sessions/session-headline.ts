export interface SessionFacts {
  claims: { attempted: number; eobUploaded: number; noEobFound: number; failed: number };
  durationMs: number | null;
  stopReason: string | null;
}

const maxReason = 200;

/** Describes a session in one sentence: the number of claims, the duration, the outcomes and the stop reason. */
export function writeSessionHeadline({ claims, durationMs, stopReason }: SessionFacts): string {
  const { attempted, eobUploaded, noEobFound, failed } = claims;
  const all = attempted === 0 ? 'No claims' : formatCountWithNoun(attempted, 'claim');
  const time = durationMs === null ? '' : ` in ${formatDurationInWords(durationMs)}`;
  const outcomes = [
    eobUploaded && `${formatCountWithNoun(eobUploaded, 'EOB')} uploaded`,
    noEobFound && `${groupDigitsByThousand(noEobFound)} without an EOB`,
    failed && `${groupDigitsByThousand(failed)} failed`,
  ].filter(Boolean);
  const outcomeText = outcomes.length ? `: ${outcomes.join(', ')}` : '';
  const stop = stopReason === null ? '' : `; stopped: ${shortenStopReason(stopReason)}`;
  return `${all}${time}${outcomeText}${stop}.`;
}

function formatCountWithNoun(count: number, noun: string): string {
  return `${groupDigitsByThousand(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function groupDigitsByThousand(count: number): string {
  return count.toLocaleString('en-US');
}

/** Formats a duration in words: 2 hours 5 minutes, 35 minutes, 12 seconds. */
function formatDurationInWords(durationMs: number): string {
  const seconds = Math.round(durationMs / 1000);
  if (seconds < 60) return formatCountWithNoun(seconds, 'second');
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return formatCountWithNoun(minutes, 'minute');
  const rest = minutes % 60;
  return (
    formatCountWithNoun(Math.floor(minutes / 60), 'hour') + (rest ? ` ${formatCountWithNoun(rest, 'minute')}` : '')
  );
}

/** Shortens a reason and removes its final period, because the sentence ends with one. */
function shortenStopReason(reason: string): string {
  const characters = [...reason.replaceAll(/\s+/g, ' ').trim()];
  const short = characters.length > maxReason ? `${characters.slice(0, maxReason).join('')}…` : characters.join('');
  return short.replace(/\.+$/, '');
}
