import { useQuery } from '@tanstack/react-query';
import { readAllItems } from '../api/read-all-items';
import { usePermission } from '../api/session';
import { type Agent, agentsList, jobsList, workflowsList } from '../api/generated';
import { ChoiceField } from '../ui/form';

interface AgentFieldProps {
  label?: string;
  name: string;
  initial?: string;
  /** Agent that is listed first among the agents with its status, such as the agent used last. */
  likely?: string;
  /** Label of the empty choice; without it an agent is required. */
  none?: string;
  /** Called with the chosen agent's id. */
  choose?: (id: string) => void;
}

/** Select box with the agents that are not terminated. */
export function AgentField({ label = 'Agent', name, initial, likely, none, choose }: AgentFieldProps) {
  const { data: agents = [] } = useAgentChoices();
  const choices = sortByLikelihood(agents, likely).map(({ id, name: text, status }) => ({
    value: id,
    label: `${text} (${status})`,
  }));
  return (
    <ChoiceField
      label={label}
      name={name}
      choices={choices}
      initial={initial}
      none={none}
      required={none === undefined}
      choose={choose}
    />
  );
}

const ranks: readonly Agent['status'][] = ['online', 'starting', 'rebooting', 'stopped', 'stopping', 'draining'];

/** Sorts agents by how likely the user chooses them: `likely` first among the agents with its status. */
export function sortByLikelihood(agents: readonly Agent[], likely: string | undefined): Agent[] {
  return [...agents].sort((a, b) => rankAgent(a, likely) - rankAgent(b, likely));
}

/** Ranks online agents before those that must be woken, and those before agents without a connection. */
function rankAgent({ id, status }: Agent, likely: string | undefined): number {
  const rank = ranks.indexOf(status);
  return (rank === -1 ? ranks.length : rank) - (id === likely ? 0.5 : 0);
}

interface WorkflowFieldProps {
  label?: string;
  name: string;
  /** Called with the chosen workflow's id, for forms that show its variables. */
  choose?: (id: string) => void;
  initial?: string;
}

/** Select box with the workflows. */
export function WorkflowField({ label = 'Workflow', name, choose, initial }: WorkflowFieldProps) {
  const { data: workflows = [] } = useWorkflowChoices();
  const choices = workflows.map(({ id, name: text }) => ({ value: id, label: text }));
  return (
    <ChoiceField
      label={label}
      name={name}
      choices={choices}
      initial={initial}
      none="Choose a workflow"
      required
      choose={choose}
    />
  );
}

/** Reads the agents that can be chosen. */
export function useAgentChoices() {
  return useQuery({
    enabled: usePermission('agents.read'),
    queryKey: ['agents', 'choices'],
    queryFn: ({ signal }) =>
      readAllItems(async (page) => {
        const { agents, nextCursor } = await agentsList({ query: page, signal });
        return { items: agents.filter(({ status }) => status !== 'terminated'), nextCursor };
      }),
    select: ({ items }) => items,
  });
}

/** Reads the agent of the latest run of a workflow; undefined if it has none. */
export function useLastAgent(workflowId: string, enabled = true) {
  return useQuery({
    queryKey: ['runs', 'last of', workflowId],
    enabled,
    queryFn: ({ signal }) => jobsList({ query: { workflowId, limit: 1 }, signal }),
    select: ({ jobs }) => jobs[0]?.agentId ?? undefined,
  });
}

export function useWorkflowChoices() {
  return useQuery({
    enabled: usePermission('workflows.read'),
    queryKey: ['workflows', 'choices'],
    queryFn: ({ signal }) =>
      readAllItems(async (page) => {
        const { workflows, nextCursor } = await workflowsList({ query: page, signal });
        return { items: workflows, nextCursor };
      }),
    select: ({ items }) => items,
  });
}
