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
      showToast(
        placement
          ? 'The agent accepts runs that require its labels.'
          : 'The agent accepts only runs launched for it by name.',
      );
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
        Accepts runs that require its labels
      </label>
      <p id={id} className="mt-1.5 text-dim">
        While this is off, the agent starts only runs that were launched for it by name. Runs that require labels start
        on other agents.
      </p>
      <p className="mt-1.5">
        {agent.labels.length > 0 ? (
          <>
            Labels: <LabelLinks labels={agent.labels} />
          </>
        ) : (
          'The agent has no labels, so only runs that were launched for it by name can start on it.'
        )}
      </p>
    </Panel>
  );
}
