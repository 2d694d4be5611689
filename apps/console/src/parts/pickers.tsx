import { useQuery } from '@tanstack/react-query';
import { readAllItems } from '../api/read-all-items';
import { type Agent, agentsList, workflowsList } from '../api/generated';
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
  const choices = [...agents]
    .sort((a, b) => rankAgent(a, likely) - rankAgent(b, likely))
    .map(({ id, name: text, status }) => ({ value: id, label: `${text} (${status})` }));
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
    queryKey: ['agents', 'choices'],
    queryFn: ({ signal }) =>
      readAllItems(async (page) => {
        const { agents, nextCursor } = await agentsList({ query: page, signal });
        return { items: agents.filter(({ status }) => status !== 'terminated'), nextCursor };
      }),
    select: ({ items }) => items,
  });
}

export function useWorkflowChoices() {
  return useQuery({
    queryKey: ['workflows', 'choices'],
    queryFn: ({ signal }) =>
      readAllItems(async (page) => {
        const { workflows, nextCursor } = await workflowsList({ query: page, signal });
        return { items: workflows, nextCursor };
      }),
    select: ({ items }) => items,
  });
}
