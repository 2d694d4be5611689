import type { CommandKind, LifecycleSource } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { recordSpan } from '@muster/platform';
import { actionKinds, imagingKinds } from '../command/command-kinds';
import { appendTimeline, appendTimelines, type TimelineEntry } from '@muster/timeline';
import type { EndedCommand } from '../command/ended-command';
import { deriveWorkerTrace } from '../command/worker-trace';

/** Kinds of commands with timeline entries. Imaging commands have entries too, because they take minutes. */
const recordedKinds: readonly CommandKind[] = [...actionKinds, ...imagingKinds];

const maxErrorLength = 500;

/** The requester of a command and the reason. */
export interface Requester {
  source: LifecycleSource;
  by: string;
  reason?: string;
}

/** Records on the agent's timeline who requested a command. The payload is left out because it may be secret. */
export function recordCommandRequest(
  tx: Transaction,
  agentRef: { organizationId: string; agentId: string },
  { id, kind, requestedBy: { source, by, reason } }: { id: string; kind: CommandKind; requestedBy: Requester },
): void {
  const message = `${kind} was requested by ${by}${reason ? `: ${reason}` : ''}`;
  appendTimeline(tx, agentRef, [{ kind: 'provisioning', source, message, data: { commandId: id, action: kind } }]);
}

/** Records the ends of commands on the agents' timelines. */
export function recordEndedCommands(tx: Transaction, ended: EndedCommand[], source: LifecycleSource | 'worker'): void {
  tx.onCommit(() => ended.forEach(recordWorkActivity));
  const recorded = ended.filter(({ kind }) => recordedKinds.includes(kind));
  appendTimelines(
    tx,
    recorded.map((command) => ({
      organizationId: command.organizationId,
      agentId: command.agentId,
      entry: { ...buildEndEntry(command), source },
    })),
  );
}

/**
 * Records the worker's execution of a command as a span of the request's trace. The span of a run is recorded when its
 * job ends.
 */
function recordWorkActivity(command: EndedCommand): void {
  const { id, kind, traceparent, takenAt, finishedAt, status, code } = command;
  if (kind === 'run' || !traceparent || !takenAt || !finishedAt) return;
  const { worker, pushedBy } = deriveWorkerTrace({ id, traceparent });
  recordSpan({
    name: `worker ${kind}`,
    kind: 'consumer',
    traceparent: worker,
    parentId: pushedBy,
    startMs: takenAt.getTime(),
    endMs: finishedAt.getTime(),
    attributes: {
      'muster.organization_id': command.organizationId,
      'muster.agent_id': command.agentId,
      'muster.command_id': id,
      'muster.status': status,
    },
    error: status === 'failed' ? (code ?? 'failed') : undefined,
  });
}

function buildEndEntry({ id, kind, status, error, code }: EndedCommand): TimelineEntry {
  const data = { commandId: id, action: kind, status, ...(code ? { code } : {}) };
  if (status === 'success') return { kind: 'provisioning', message: `${kind} is done`, data };
  const detail = error ? `: ${error.slice(0, maxErrorLength)}` : '';
  return { kind: 'provisioning', level: 'error', message: `${kind} failed${detail}`, data };
}
