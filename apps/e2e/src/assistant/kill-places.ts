import type { ServiceApp } from '@muster/contracts';

const session = (when: string) => `BEFORE UPDATE ON autopilot_session FOR EACH ROW WHEN (${when})`;
const between = (from: string, to: string) => session(`OLD.phase = '${from}' AND NEW.phase = '${to}'`);
const command = (kind: string) => `BEFORE INSERT ON agent_command FOR EACH ROW WHEN (NEW.kind = 'autopilot_${kind}')`;

/** Where a session can be held, as the statement that a process has sent and Postgres has not carried out. */
export const places = {
  'session begun': 'BEFORE INSERT ON autopilot_session',
  'browser ordered': command('open'),
  'browser open': between('open', 'look'),
  'page looked at': between('look', 'ask'),
  'attempt begun': 'BEFORE INSERT ON autopilot_attempt',
  'answer of the model taken': between('ask', 'act'),
  'attempt ordered': command('attempt'),
  'order taken':
    'BEFORE UPDATE ON agent_command FOR EACH ROW ' +
    `WHEN (NEW.kind = 'autopilot_attempt' AND NEW.taken_at IS NOT NULL AND OLD.taken_at IS NULL)`,
  'result taken':
    'BEFORE UPDATE ON agent_command FOR EACH ROW ' +
    `WHEN (NEW.kind = 'autopilot_attempt' AND NEW.status = 'success' AND OLD.status = 'pending')`,
  'told to send':
    `BEFORE UPDATE ON autopilot_attempt FOR EACH ROW ` +
    `WHEN (NEW.submitted AND NOT OLD.submitted AND NEW.outcome = 'running')`,
  'result of what was sent taken':
    'BEFORE UPDATE ON agent_command FOR EACH ROW ' +
    `WHEN (NEW.kind = 'autopilot_attempt' AND NEW.status = 'success' AND OLD.status = 'pending' ` +
    `AND NEW.payload->>'maySubmit' = 'true')`,
  'what was sent settled': `BEFORE UPDATE ON autopilot_attempt FOR EACH ROW WHEN (NEW.submitted AND NEW.outcome = 'passed')`,
  'lesson kept': 'BEFORE INSERT ON autopilot_lesson',
  'browser told to close': command('close'),
  'workflow made': 'BEFORE INSERT ON workflow',
  'session ended': between('close', 'over'),
  'session resumed': session(`OLD.status = 'paused' AND NEW.status = 'resumed'`),
  'resumption taken up': session(`OLD.status = 'resumed' AND NEW.status = 'running'`),
  'session cancelled': session(`OLD.ending IS NULL AND NEW.ending->>'to' = 'cancelled'`),
};
export type Place = keyof typeof places;

/** Sessions and commands are their agent's, attempts and lessons their session's, a workflow has its own name. */
export const keyOfPlace = `COALESCE(item->>'session_id', item->>'agent_id', item->>'name')`;

export function keysOf(place: Place): 'session' | 'agent' | 'name' {
  const [, table] = / ON (\w+)/.exec(places[place])!;
  if (table === 'workflow') return 'name';
  return table === 'autopilot_attempt' || table === 'autopilot_lesson' ? 'session' : 'agent';
}

/** Each of them can be killed at any time. */
export const apps = ['gateway', 'ingest', 'scheduler', 'dispatcher'] as const satisfies readonly ServiceApp[];
export type KilledApp = (typeof apps)[number];
