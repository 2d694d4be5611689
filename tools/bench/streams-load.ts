/**
 * A request to a writer: a number of transactions with a number of entries for each agent, as fast as possible or at a
 * rate.
 */
export interface Load {
  agents: string[];
  transactions: number;
  entries: number;
  /** Transactions per second over all agents; unlimited if absent. */
  perSecond?: number;
}

/**
 * Answers load requests. `write` delivers entries to an agent's readers; each entry contains the time at which it was
 * created.
 */
export function answerLoadRequests(write: (agentId: string, messages: string[]) => Promise<void> | void): void {
  process.on('message', (load: Load) => {
    void performLoad(load, write).then(() => process.send!({ done: true }));
  });
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
}

async function performLoad(
  { agents, transactions, entries, perSecond }: Load,
  write: (agentId: string, messages: string[]) => Promise<void> | void,
): Promise<void> {
  const work = Array.from({ length: transactions }, () => agents).flat();
  const began = performance.now();
  let next = 0;
  const writeTransactions = async () => {
    for (let at = next++; at < work.length; at = next++) {
      const early = perSecond ? began + (at * 1000) / perSecond - performance.now() : 0;
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
      await write(work[at]!, Array.from({ length: entries }, buildTimedMessage));
    }
  };
  await Promise.all(Array.from({ length: 8 }, writeTransactions));
}

/** A message of the length of a log line. It begins with the time. */
function buildTimedMessage(): string {
  return `${readNow().toFixed(3)} Claim 12345 of the practice: opened the portal and found the remittance advice`;
}

/** Milliseconds on a clock that all processes of the machine share. */
export function readNow(): number {
  return performance.timeOrigin + performance.now();
}
