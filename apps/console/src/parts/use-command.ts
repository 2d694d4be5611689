import { useQuery, useQueryClient } from '@tanstack/react-query';
import { pollMs } from '../api/query-client';
import { useAgentEvents } from '../live/use-agent-events';
import { useThrottled } from '../live/use-throttled';

/**
 * Reads the status of an agent's command until the command has ended. Events of the agent's stream trigger reads
 * between the polls.
 */
export function useCommand<S extends { status: 'pending' | 'success' | 'failed' }>(
  agentId: string,
  commandId: string | undefined,
  read: (commandId: string, signal: AbortSignal) => Promise<S>,
) {
  const client = useQueryClient();
  const queryKey = ['command', agentId, commandId];
  const query = useQuery({
    queryKey,
    enabled: commandId !== undefined,
    queryFn: ({ signal }) => read(commandId!, signal),
    refetchInterval: ({ state }) => (state.data && state.data.status !== 'pending' ? false : pollMs),
  });
  const isOpen = commandId !== undefined && query.data?.status === 'pending';
  const look = useThrottled(() => client.invalidateQueries({ queryKey }), 400);
  useAgentEvents(isOpen ? agentId : undefined, look);
  return query;
}
