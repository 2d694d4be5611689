import { useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { type Agent, agentsUpdate } from '../../api/generated';
import { usePermission } from '../../api/session';
import { LabelLinks } from '../../parts/names';
import { Panel } from '../../ui/page';
import { showErrorToast, showToast } from '../../ui/toast';

/** Switch that excludes an agent from the runs that require labels instead of naming their agent. */
export function Placement({ agent }: { agent: Agent }) {
  const client = useQueryClient();
  const mayAdminister = usePermission('agents.admin');
  // The switch shows the requested value until the service has answered, so that a press is seen at once.
  const [requested, setRequested] = useState<boolean | null>(null);
  const id = useId();
  const savePlacement = async (placement: boolean) => {
    setRequested(placement);
    try {
      client.setQueryData(['agent', agent.id], await agentsUpdate({ path: { id: agent.id }, body: { placement } }));
      showToast(placement ? 'The agent takes runs by its labels.' : 'The agent takes only runs that name it.');
      void client.invalidateQueries({ queryKey: ['agents'] });
    } catch (error) {
      showErrorToast(error);
    }
    setRequested(null);
  };
  const isFixed = !mayAdminister || requested !== null || agent.status === 'terminated';
  return (
    <Panel title="Placement">
      <label className="flex items-center gap-2 font-medium">
        <input
          type="checkbox"
          role="switch"
          className="size-4 shrink-0"
          checked={requested ?? agent.placement}
          disabled={isFixed}
          aria-describedby={id}
          onChange={({ target }) => void savePlacement(target.checked)}
        />
        Takes runs by its labels
      </label>
      <p id={id} className="mt-1.5 text-dim">
        While this is off, the agent starts only runs that name it, and no run that any agent with its labels could
        take.
      </p>
      <p className="mt-1.5">
        {agent.labels.length > 0 ? (
          <>
            Labels: <LabelLinks labels={agent.labels} />
          </>
        ) : (
          'It has no labels, so only runs that name it can start on it.'
        )}
      </p>
    </Panel>
  );
}
