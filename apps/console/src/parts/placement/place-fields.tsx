import { useState } from 'react';
import type { JobTarget } from '../../api/generated';
import { SelectField, TextField, type Values } from '../../ui/form';
import { useDelayedText } from '../../ui/table/use-typed';
import { AgentField } from '../pickers';
import { PlacementNote } from './placement-note';

interface PlaceFieldsProps {
  /** Workflow that runs; without one, no preview is shown. */
  workflowId?: string;
  agentId?: string;
  target?: JobTarget | null;
  /** Agent that is listed first among the agents with its status, such as the agent used last. */
  likely?: string;
  /** Field with which the user names the machines. If absent, a field for one machine is shown. */
  named?: React.ReactNode;
  /** Values of the workflow's variables, which its concurrency keys can contain. */
  variables?: Record<string, string>;
}

type Preference = JobTarget['prefer'];
/** Milliseconds without typing after which the preview is read. */
const pauseMs = 300;

/** Fields with which a form chooses an agent, or the labels that any agent must have. */
export function AgentOrTargetFields({ workflowId, agentId, target, likely, named, variables }: PlaceFieldsProps) {
  const [place, setPlace] = useState(target ? 'any' : 'one');
  const [labels, setLabels] = useState(target?.labels.join(', ') ?? '');
  const [typedLabels, typeLabels] = useDelayedText(labels, setLabels, pauseMs);
  const [prefer, setPrefer] = useState<Preference>(target?.prefer ?? 'running');
  const [chosen, setChosen] = useState(agentId ?? '');
  const isOne = place === 'one';
  const required = splitLabels(labels);
  const runsOn = isOne ? { agentId: chosen } : { target: { labels: required, prefer } };
  const isKnown = isOne ? chosen !== '' && named === undefined : required.length > 0;
  return (
    <>
      <SelectField
        label="Runs on"
        name="place"
        options={[
          { value: 'one', label: 'a machine' },
          { value: 'any', label: 'any machine with labels' },
        ]}
        value={place}
        onChange={(event) => setPlace(event.target.value)}
      />
      {isOne ? (
        (named ?? <AgentField name="agentId" initial={agentId} likely={likely} choose={setChosen} />)
      ) : (
        <>
          <TextField
            label="Labels"
            name="target.labels"
            required
            value={typedLabels}
            onChange={(event) => typeLabels(event.target.value)}
            hint="Separated by commas. The machine must have all of them."
            autoComplete="off"
          />
          <SelectField
            label="Of several idle machines"
            name="target.prefer"
            options={[
              { value: 'running', label: 'the one that was busy last, so that the others can stop' },
              { value: 'spread', label: 'the one that has been idle longest' },
            ]}
            value={prefer}
            onChange={(event) => setPrefer(event.target.value as Preference)}
          />
        </>
      )}
      {workflowId && isKnown && <PlacementNote body={{ workflowId, ...runsOn, variables }} />}
    </>
  );
}

/** Returns the part of a request's body that the fields specify. */
export function readAgentOrTarget(values: Values) {
  if (values.readText('place') !== 'any') return { agentId: values.readText('agentId') };
  const prefer = values.readText('target.prefer') as Preference;
  return { target: { labels: splitLabels(values.readText('target.labels')), prefer } };
}

function splitLabels(text: string): string[] {
  const labels = text.split(',').map((label) => label.trim());
  return [...new Set(labels.filter((label) => label !== ''))];
}
