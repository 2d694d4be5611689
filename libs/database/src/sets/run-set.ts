import { AppError, type OutboxMessage } from '@muster/contracts';
import type { OwnConnection } from '../transactions/own-connection';
import { RunAlone } from '../transactions/run-alone';
import type { Answer } from '../transactions/statement-batch';
import { Transaction } from '../transactions/transaction';
import { SharedConnection } from './shared-connection';
import { isRolledBackError } from './is-rolled-back';
import type { SetResult } from './sets';

export type Work = (tx: Transaction) => Promise<unknown>;

interface SetParts extends Pick<Transaction, 'scope' | 'now'> {
  connection: OwnConnection;
  /** Called for each member of the set whose work was committed. */
  announce: (tx: Transaction, messages: OutboxMessage[]) => void;
}

/**
 * Runs the works of a set concurrently in one database transaction and commits together what they wrote. A work that is
 * refused before it has written anything does not disturb the others. If anything else goes wrong, the transaction is
 * rolled back and every work runs alone, so that a faulty work does not make the others fail.
 */
export async function runWorksAsSet(works: readonly Work[], parts: SetParts): Promise<SetResult[]> {
  const { connection, scope, now, announce } = parts;
  const shared = new SharedConnection(connection);
  const members = works.map((work) => {
    const own = shared.addMember();
    return { work, own, tx: new Transaction(scope, now, own) };
  });
  const results = await Promise.allSettled(
    members.map(async ({ work, own, tx }) => {
      try {
        return await work(tx);
      } finally {
        own.leaveTransaction();
      }
    }),
  );
  const isDisturbed = results.some(
    (result, at) => result.status === 'rejected' && !leavesSetIntact(result.reason, members[at]!.own.hasWritten),
  );
  if (shared.hasFailed || isDisturbed) return works.map(() => 'alone');
  const last = results.map((result, at) => (result.status === 'fulfilled' ? members[at]!.tx.takeLastStatements() : []));
  // All members wait until the commit is on disk if at least one member requires that.
  const isUnflushed = results.every((result, at) => result.status === 'rejected' || members[at]!.tx.isUnflushed);
  let answers: Answer[][] = [];
  try {
    if (connection.hasBegun || last.some(({ length }) => length > 0))
      answers = await shared.commitAll(last, { unflushed: isUnflushed });
  } catch (error) {
    if (isRolledBackError(error)) return works.map(() => 'alone');
    // Whether the transaction was committed is unknown, so no work is repeated.
    return results.map((result) => ({ error: result.status === 'rejected' ? result.reason : error }));
  }
  return results.map((result, at): SetResult => {
    if (result.status === 'rejected') return result.reason instanceof RunAlone ? 'alone' : { error: result.reason };
    const { tx } = members[at]!;
    announce(tx, tx.collectMessages(answers[at] ?? []));
    return { value: result.value };
  });
}

/** Whether a work was refused or must run alone, without having written anything that would be committed. */
function leavesSetIntact(error: unknown, hasWritten: boolean): boolean {
  if (error instanceof RunAlone && error.isUnchanged) return true;
  return !hasWritten && (error instanceof AppError || error instanceof RunAlone);
}
