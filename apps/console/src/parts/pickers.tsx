import { useQuery } from '@tanstack/react-query';
import { allOf } from '../api/all-of';
import { type Agent, agentsList, workflowsList } from '../api/generated';
import { ChoiceField } from '../ui/form';

interface AgentFieldProps {
  label?: string;
  name: string;
  initial?: string;
  /** One that is chosen before others where it is online, such as the one used last. */
  likely?: string;
  /** What it says where none need be chosen. */
  none?: string;
  /** Hears which one it is. */
  choose?: (id: string) => void;
}

/** An agent that takes runs, by name. */
export function AgentField({ label = 'Agent', name, initial, likely, none, choose }: AgentFieldProps) {
  const { data: agents = [] } = useAgentChoices();
  const choices = [...agents]
    .sort((a, b) => rankOf(a, likely) - rankOf(b, likely))
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

/** One that is there comes before one that must be woken, and that before one that is lost. */
function rankOf({ id, status }: Agent, likely: string | undefined): number {
  const rank = ranks.indexOf(status);
  return (rank === -1 ? ranks.length : rank) - (id === likely ? 0.5 : 0);
}

interface WorkflowFieldProps {
  label?: string;
  name: string;
  /** Hears which one it is, for those who ask for its variables. */
  choose?: (id: string) => void;
  initial?: string;
}

/** A workflow, by name. */
export function WorkflowField({ label = 'Workflow', name, choose, initial }: WorkflowFieldProps) {
  const { data: workflows = [] } = useWorkflowChoices();
  const choices = workflows.map(({ id, name: text }) => ({ value: id, label: text }));
  return (
    <ChoiceField
      label={label}
      name={name}
      choices={choices}
      initial={initial}
      none="Choose one"
      required
      choose={choose}
    />
  );
}

/** The agents that can be chosen. */
export function useAgentChoices() {
  return useQuery({
    queryKey: ['agents', 'choices'],
    queryFn: ({ signal }) =>
      allOf(async (page) => {
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
      allOf(async (page) => {
        const { workflows, nextCursor } = await workflowsList({ query: page, signal });
        return { items: workflows, nextCursor };
      }),
    select: ({ items }) => items,
  });
}
