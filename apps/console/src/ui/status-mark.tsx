import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleHelp,
  CirclePause,
  CircleX,
  LoaderCircle,
  type LucideIcon,
  Minus,
  Square,
  TriangleAlert,
} from 'lucide-react';

type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'idle';

/** Icon and color of every status of the API. */
const marks: Record<string, [LucideIcon, Tone]> = {
  online: [CircleDot, 'good'],
  offline: [TriangleAlert, 'bad'],
  stopped: [Square, 'idle'],
  starting: [LoaderCircle, 'busy'],
  stopping: [LoaderCircle, 'busy'],
  rebooting: [LoaderCircle, 'busy'],
  draining: [CirclePause, 'warn'],
  terminated: [Minus, 'idle'],
  queued: [CircleDashed, 'idle'],
  pending: [CircleDashed, 'idle'],
  delivered: [CircleCheck, 'good'],
  dead: [CircleX, 'bad'],
  running: [LoaderCircle, 'busy'],
  completed: [CircleCheck, 'good'],
  passed: [CircleCheck, 'good'],
  success: [CircleCheck, 'good'],
  launched: [CircleCheck, 'good'],
  failed: [CircleX, 'bad'],
  cancelled: [Ban, 'idle'],
  cancelling: [LoaderCircle, 'warn'],
  paused: [CirclePause, 'warn'],
  resumed: [LoaderCircle, 'busy'],
  recording: [CircleDot, 'busy'],
  // eslint-disable-next-line id-denylist -- A status of recordings in the API.
  kept: [CircleCheck, 'good'],
  done: [CircleCheck, 'good'],
  needs_confirmation: [CircleHelp, 'warn'],
  blocked: [CirclePause, 'warn'],
  unsure: [CircleHelp, 'warn'],
  unknown: [CircleHelp, 'warn'],
  left: [Minus, 'idle'],
  interrupted: [CircleX, 'bad'],
  skipped: [Minus, 'warn'],
  received: [CircleDashed, 'idle'],
  triaged: [CircleDot, 'busy'],
  in_progress: [LoaderCircle, 'busy'],
  resolved: [CircleCheck, 'good'],
  closed: [CircleCheck, 'idle'],
  rejected: [Ban, 'idle'],
  active: [CircleDot, 'good'],
  suspended: [CirclePause, 'warn'],
  enabled: [CircleDot, 'good'],
  disabled: [CirclePause, 'idle'],
  draft: [CircleDashed, 'idle'],
  internal_verified: [CircleDot, 'busy'],
  pilot: [CircleDot, 'warn'],
  production: [CircleCheck, 'good'],
  deprecated: [TriangleAlert, 'warn'],
  archived: [Minus, 'idle'],
};
const tones: Record<Tone, string> = {
  good: 'text-good',
  warn: 'text-warn',
  bad: 'text-bad',
  busy: 'text-busy',
  idle: 'text-idle',
};

interface StatusMarkProps {
  status: string;
  /** Status whose icon and color to use instead. */
  look?: string;
  testId?: string;
  large?: boolean;
}

/** A status as the API names it, with an icon and a color. */
export function StatusMark({ status, look = status, testId, large }: StatusMarkProps) {
  const [Icon, tone] = marks[look] ?? [CircleHelp, 'idle'];
  const turns = Icon === LoaderCircle ? 'animate-spin [animation-duration:2s]' : '';
  return (
    <span data-testid={testId} className={`font-medium whitespace-nowrap ${tones[tone]} ${large ? 'text-base' : ''}`}>
      <Icon aria-hidden className={`mr-1.5 inline align-[-0.2em] ${large ? 'size-5' : 'size-[1.15em]'} ${turns}`} />
      {status}
    </span>
  );
}
