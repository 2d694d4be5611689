import type { ServiceApp } from '@muster/contracts';

const buildSessionUpdateTrigger = (when: string) => `BEFORE UPDATE ON autopilot_session FOR EACH ROW WHEN (${when})`;
const buildPhaseChangeTrigger = (from: string, to: string) =>
  buildSessionUpdateTrigger(`OLD.phase = '${from}' AND NEW.phase = '${to}'`);
const buildCommandInsertTrigger = (kind: string) =>
  `BEFORE INSERT ON agent_command FOR EACH ROW WHEN (NEW.kind = 'autopilot_${kind}')`;

/**
 * SQL triggers by pause point. At a pause point, a process has sent the statement and Postgres has not executed it, so
 * a test can kill the process at exactly this moment of a session.
 */
export const pausePointTriggers = {
  'session insert': 'BEFORE INSERT ON autopilot_session',
  'open command insert': buildCommandInsertTrigger('open'),
  'browser opened': buildPhaseChangeTrigger('open', 'look'),
  'page snapshot stored': buildPhaseChangeTrigger('look', 'ask'),
  'attempt insert': 'BEFORE INSERT ON autopilot_attempt',
  'model answer applied': buildPhaseChangeTrigger('ask', 'act'),
  'attempt command insert': buildCommandInsertTrigger('attempt'),
  'attempt command acknowledged':
    'BEFORE UPDATE ON agent_command FOR EACH ROW ' +
    `WHEN (NEW.kind = 'autopilot_attempt' AND NEW.taken_at IS NOT NULL AND OLD.taken_at IS NULL)`,
  'attempt result stored':
    'BEFORE UPDATE ON agent_command FOR EACH ROW ' +
    `WHEN (NEW.kind = 'autopilot_attempt' AND NEW.status = 'success' AND OLD.status = 'pending')`,
  'submission allowed':
    `BEFORE UPDATE ON autopilot_attempt FOR EACH ROW ` +
    `WHEN (NEW.submitted AND NOT OLD.submitted AND NEW.outcome = 'running')`,
  'submission result stored':
    'BEFORE UPDATE ON agent_command FOR EACH ROW ' +
    `WHEN (NEW.kind = 'autopilot_attempt' AND NEW.status = 'success' AND OLD.status = 'pending' ` +
    `AND NEW.payload->>'maySubmit' = 'true')`,
  'submission passed': `BEFORE UPDATE ON autopilot_attempt FOR EACH ROW WHEN (NEW.submitted AND NEW.outcome = 'passed')`,
  'lesson insert': 'BEFORE INSERT ON autopilot_lesson',
  'close command insert': buildCommandInsertTrigger('close'),
  'workflow insert': 'BEFORE INSERT ON workflow',
  'session ended': buildPhaseChangeTrigger('close', 'over'),
  'session resumed': buildSessionUpdateTrigger(`OLD.status = 'paused' AND NEW.status = 'resumed'`),
  'resumed session continued': buildSessionUpdateTrigger(`OLD.status = 'resumed' AND NEW.status = 'running'`),
  'session cancelled': buildSessionUpdateTrigger(`OLD.ending IS NULL AND NEW.ending->>'to' = 'cancelled'`),
};
export type PausePoint = keyof typeof pausePointTriggers;

/**
 * SQL: the value by which a test selects the rows that wait at a pause point. It is the agent of a session or command,
 * the session of an attempt or lesson, or the name of a workflow.
 */
export const pausePointKeySql = `COALESCE(item->>'session_id', item->>'agent_id', item->>'name')`;

export function getKeyKind(pausePoint: PausePoint): 'session' | 'agent' | 'name' {
  const [, table] = / ON (\w+)/.exec(pausePointTriggers[pausePoint])!;
  if (table === 'workflow') return 'name';
  return table === 'autopilot_attempt' || table === 'autopilot_lesson' ? 'session' : 'agent';
}

/** The apps that the tests kill. */
export const apps = ['gateway', 'ingest', 'scheduler', 'dispatcher'] as const satisfies readonly ServiceApp[];
export type KilledApp = (typeof apps)[number];
