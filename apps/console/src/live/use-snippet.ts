import { useEffect, useState } from 'react';
import { agentCommandsStatus, type CommandStatus } from '../api/generated';
import { isApiError } from '../api/api-error';

const waitSeconds = 20;
const restMs = 2000;

interface Snippet {
  commandId: string;
  answer?: CommandStatus;
  error?: unknown;
}

/** What code says while it runs, and how it ended: each request waits at the service until there is something new. */
export function useSnippet(agentId: string, commandId: string | undefined): Omit<Snippet, 'commandId'> {
  const [snippet, setSnippet] = useState<Snippet>();
  useEffect(() => {
    if (!commandId) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const follow = async () => {
      let seen = 0;
      while (!signal.aborted) {
        try {
          const query = { commandId, wait: waitSeconds, seen };
          const answer = await agentCommandsStatus({ path: { id: agentId }, query, signal });
          setSnippet({ commandId, answer });
          if (answer.status !== 'pending') return;
          seen = answer.output?.length ?? 0;
        } catch (error) {
          if (signal.aborted) return;
          // What cannot be reached is asked again; what was refused is refused again.
          if (isApiError(error) && error.status >= 400 && error.status < 500) return setSnippet({ commandId, error });
          await new Promise((resolve) => setTimeout(resolve, restMs));
        }
      }
    };
    void follow();
    return () => leaving.abort();
  }, [agentId, commandId]);
  return snippet?.commandId === commandId ? (snippet ?? {}) : {};
}
