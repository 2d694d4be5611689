import { useState } from 'react';
import { agentsCreate, type CreatedAgent, type CreateAgentBody } from '../../api/generated';
import { InstallWorker } from '../../parts/install-worker';
import { Button } from '../../ui/button';
import { CopyText } from '../../ui/copy-text';
import { Dialog, DialogActions } from '../../ui/dialog';
import { Form, SelectField, TextField } from '../../ui/form';

const providers = [
  { value: 'external', label: 'external: a machine that you switch on and off yourself' },
  { value: 'local', label: 'local: a process on the computer of the service' },
  { value: 'http', label: 'http: a machine that your own control plane starts and stops over HTTP' },
  { value: 'ec2', label: 'ec2: an AWS EC2 instance' },
  { value: 'docker', label: 'docker: a Docker container' },
];
const settings: Record<string, { name: string; label: string; required: boolean }[]> = {
  http: [
    { name: 'baseUrl', label: 'Base URL', required: true },
    { name: 'ref', label: 'Reference', required: true },
  ],
  ec2: [
    { name: 'instanceId', label: 'Instance', required: true },
    { name: 'region', label: 'Region', required: true },
  ],
  docker: [
    { name: 'container', label: 'Container', required: true },
    { name: 'host', label: 'Docker host', required: false },
  ],
};

interface NewAgentProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  made: () => void;
}

/** Creates an agent, then shows its worker key once. The service cannot show the key again. */
export function NewAgentDialog({ open, onOpenChange, made }: NewAgentProps) {
  const [created, setCreated] = useState<CreatedAgent | null>(null);
  const changeOpen = (next: boolean) => {
    if (!next) setCreated(null);
    onOpenChange(next);
  };
  return (
    <Dialog open={open} onOpenChange={changeOpen} title="New agent" wide={created !== null} keeps={created !== null}>
      {created ? (
        <WorkerKey created={created} done={() => changeOpen(false)} />
      ) : (
        <NewAgentForm
          created={(answer) => {
            setCreated(answer);
            made();
          }}
        />
      )}
    </Dialog>
  );
}

function NewAgentForm({ created }: { created: (answer: CreatedAgent) => void }) {
  const [provider, setProvider] = useState('external');
  const fields = settings[provider] ?? [];
  return (
    <Form
      submit="Create agent"
      onSubmit={(values) => {
        const configFields = fields.map(({ name }) => [name, values.readText(`providerConfig.${name}`)]);
        const labels = values
          .readText('labels')
          .split(',')
          .map((label) => label.trim())
          .filter(Boolean);
        const body: CreateAgentBody = {
          name: values.readText('name'),
          provider: provider as CreateAgentBody['provider'],
          ...(fields.length > 0
            ? { providerConfig: Object.fromEntries(configFields.filter(([, value]) => value !== '')) }
            : {}),
          ...(labels.length > 0 ? { labels } : {}),
        };
        return agentsCreate({ body });
      }}
      onDone={created}
    >
      <TextField label="Name" name="name" required maxLength={100} autoComplete="off" autoFocus />
      <SelectField
        label="Provider"
        name="provider"
        options={providers}
        value={provider}
        onChange={({ target }) => setProvider(target.value)}
      />
      {fields.map(({ name, label, required }) => (
        <TextField key={name} label={label} name={`providerConfig.${name}`} required={required} autoComplete="off" />
      ))}
      <TextField
        label="Labels"
        name="labels"
        hint="Separate labels with commas. Lists can be filtered by label."
        autoComplete="off"
      />
    </Form>
  );
}

function WorkerKey({ created: { agent, workerKey }, done }: { created: CreatedAgent; done: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      <p>
        <bdi className="font-medium">{agent.name}</bdi> is created. Save its worker key now: it is not shown again.
      </p>
      <CopyText label="Worker key" text={workerKey} />
      {agent.provider !== 'local' && <InstallWorker agentId={agent.id} workerKey={workerKey} />}
      <DialogActions>
        <Button look="primary" onClick={done}>
          Done
        </Button>
      </DialogActions>
    </div>
  );
}
