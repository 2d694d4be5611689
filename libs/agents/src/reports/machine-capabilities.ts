import { AppError, type CommandKind, type MachinePart, machineParts } from '@muster/contracts';
import type { AgentEntity } from '@muster/database';

const scripts: readonly CommandKind[] = ['run', 'snippet', 'function', 'builder'];
const pictures: readonly CommandKind[] = ['imaging_images', 'imaging_composite'];

/** What a machine must have for a command. */
export function needsOf(kind: CommandKind, payload: Record<string, unknown> = {}): MachinePart[] {
  if (scripts.includes(kind)) return ['python'];
  if (pictures.includes(kind)) return ['python', 'pillow'];
  if (kind === 'autopilot_open') return ['python', 'chromium'];
  // One that says neither is whichever its machine has.
  if (kind === 'start_recording' && payload['kind'] === 'screen') return ['ffmpeg'];
  if (kind === 'start_recording' && (payload['kind'] === 'browser' || payload['startUrl'])) return ['chromium'];
  return [];
}

/** What of it the machine lacks, by its worker's own word: of one that said nothing, nothing. */
export function missingParts(
  { capabilities }: Pick<AgentEntity, 'capabilities'>,
  needs: readonly MachinePart[],
): MachinePart[] {
  return needs.filter((part) => capabilities?.some(({ name, available }) => name === part && !available));
}

/** For people: what to do about it. */
export function lacksText(missing: readonly MachinePart[]): string {
  const names = missing.map((part) => machineParts[part]).join(' and ');
  return `the machine has no ${names}, according to its worker’s last handshake; install it there and restart the worker`;
}

export function machineCannot(missing: readonly MachinePart[]): AppError {
  const text = lacksText(missing);
  return new AppError('machine_cannot', {
    detail: `${text[0]!.toUpperCase()}${text.slice(1)}.`,
    extra: { missing: [...missing] },
  });
}
