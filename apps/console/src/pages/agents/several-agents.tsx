import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Agent, agentActionsAct, agentActionsExempt, agentDrainDrain } from '../../api/generated';
import { formatCountWithNoun } from '../../format/format';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/dialog';
import { showToast } from '../../ui/toast';

const deeds = {
  Start: ({ id }: Agent) => agentActionsAct({ path: { id }, body: { action: 'start' } }),
  Stop: ({ id }: Agent) => agentActionsAct({ path: { id }, body: { action: 'stop' } }),
  Reboot: ({ id }: Agent) => agentActionsAct({ path: { id }, body: { action: 'reboot' } }),
  Pin: ({ id }: Agent) => agentActionsExempt({ path: { id }, body: { exempt: true } }),
  Unpin: ({ id }: Agent) => agentActionsExempt({ path: { id }, body: { exempt: false } }),
  Drain: ({ id }: Agent) => agentDrainDrain({ path: { id }, body: { mode: 'finish' } }),
} satisfies Record<string, (agent: Agent) => Promise<unknown>>;
type Deed = keyof typeof deeds;
const dangerous = ['Stop', 'Reboot'] as const;

/** Applies one action to several agents, and reports the reason for each agent that refused it. */
export function SelectedAgentsActions({ agents, done }: { agents: Agent[]; done: () => void }) {
  const [confirming, setConfirming] = useState<{ deed: (typeof dangerous)[number]; agents: Agent[] } | null>(null);
  const client = useQueryClient();
  const actOnAgents = async (deed: Deed, wanted: Agent[]) => {
    const outcomes = await Promise.allSettled(wanted.map((agent) => deeds[deed](agent)));
    const refused = outcomes.flatMap((outcome, at) =>
      outcome.status === 'rejected' ? [`${wanted[at]!.name}: ${(outcome.reason as Error).message}`] : [],
    );
    await client.invalidateQueries({ queryKey: ['agents'] });
    const reasons = refused.slice(0, 3).join(' ') + (refused.length > 3 ? ` And ${refused.length - 3} more.` : '');
    showToast(
      `${deed} requested for ${wanted.length - refused.length} of ${formatCountWithNoun(wanted.length, 'agent')}. ${reasons}`,
    );
    done();
  };
  const acting = useMutation({ mutationFn: (deed: Deed) => actOnAgents(deed, agents) });
  const confirmOrAct = (deed: Deed) => {
    const isDangerous = dangerous.find((each) => each === deed);
    if (isDangerous) setConfirming({ deed: isDangerous, agents });
    else acting.mutate(deed);
  };
  return (
    <>
      {agents.length > 0 && (
        <>
          <span className="self-center text-dim">{agents.length} selected</span>
          {(Object.keys(deeds) as Deed[]).map((deed) => (
            <Button key={deed} busy={acting.isPending} onClick={() => confirmOrAct(deed)}>
              {deed}
            </Button>
          ))}
        </>
      )}
      {confirming && (
        <ConfirmDialog
          open
          onOpenChange={() => setConfirming(null)}
          title={`${confirming.deed} ${confirming.agents.length} agents?`}
          verb={confirming.deed}
          act={() => actOnAgents(confirming.deed, confirming.agents)}
        >
          <ul className="max-h-48 list-disc overflow-y-auto pl-5">
            {confirming.agents.map(({ id, name, currentJobId }) => (
              <li key={id}>
                <bdi>{name}</bdi>
                {currentJobId &&
                  (confirming.deed === 'Reboot'
                    ? ': its current run fails'
                    : ': it has a current run, so it is not stopped')}
              </li>
            ))}
          </ul>
        </ConfirmDialog>
      )}
    </>
  );
}
