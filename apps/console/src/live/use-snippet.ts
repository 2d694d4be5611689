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

/** Output and result of a snippet, read by long polling: each request waits at the service for new output. */
export function useSnippet(agentId: string, commandId: string | undefined): Omit<Snippet, 'commandId'> {
  const [snippet, setSnippet] = useState<Snippet>();
  useEffect(() => {
    if (!commandId) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const followOutput = async () => {
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
          // A repeated request would get the same 4xx response, so only other failures are retried.
          if (isApiError(error) && error.status >= 400 && error.status < 500) return setSnippet({ commandId, error });
          await new Promise((resolve) => setTimeout(resolve, restMs));
        }
      }
    };
    void followOutput();
    return () => leaving.abort();
  }, [agentId, commandId]);
  return snippet?.commandId === commandId ? (snippet ?? {}) : {};
}
