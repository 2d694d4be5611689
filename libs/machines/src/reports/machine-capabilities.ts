import { AppError, type CommandKind, type MachinePart, machineParts } from '@muster/contracts';
import type { AgentEntity } from '@muster/database';

const scripts: readonly CommandKind[] = ['run', 'snippet', 'function', 'builder'];

/** Returns the programs that a machine must have to execute a command. */
export function listNeededParts(kind: CommandKind, payload: Record<string, unknown> = {}): MachinePart[] {
  if (scripts.includes(kind)) return ['python'];
  if (kind === 'imaging_images') return ['python', 'pillow'];
  if (kind === 'imaging_composite') return ['python', 'pillow', 'odbc'];
  if (kind === 'autopilot_open') return ['python', 'chromium'];
  // A recording without a kind and a start URL needs none of these programs: the worker uses what the machine has.
  if (kind === 'start_recording' && payload['kind'] === 'screen') return ['ffmpeg'];
  if (kind === 'start_recording' && (payload['kind'] === 'browser' || payload['startUrl'])) return ['chromium'];
  return [];
}

/**
 * Returns the needed programs that the worker reported as missing. If the worker reported no capabilities, none is
 * missing. ODBC is needed only if the machine's practice database is accessed through ODBC and not as a SQLite file.
 */
export function listMissingParts(
  { capabilities }: Pick<AgentEntity, 'capabilities'>,
  needs: readonly MachinePart[],
): MachinePart[] {
  return needs.filter((part) =>
    capabilities?.some(
      ({ name, available, required }) => name === part && !available && (part !== 'odbc' || required === true),
    ),
  );
}

/** Returns a text for users that names the missing programs and what to do about them. */
export function describeMissingParts(missing: readonly MachinePart[]): string {
  const names = missing.map((part) => machineParts[part]).join(' and ');
  return `the machine has no ${names}, according to its worker’s last handshake; install it there and restart the worker`;
}

export function missingPartsError(missing: readonly MachinePart[]): AppError {
  const text = describeMissingParts(missing);
  return new AppError('machine_cannot', {
    detail: `${text[0]!.toUpperCase()}${text.slice(1)}.`,
    extra: { missing: [...missing] },
  });
}
