import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { jobsLaunch } from '../api/generated';
import { useIdempotencyKey } from '../api/idempotency';
import { Dialog } from '../ui/dialog';
import { Form, TextField } from '../ui/form';
import { toast } from '../ui/toast';
import { AgentField } from './pickers';

interface RunDialogProps {
  workflow: { id: string; name: string; variables: string[] };
  agentId?: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Launches a workflow, and goes to where its run can be watched. */
export function RunDialog({ open, ...of }: RunDialogProps) {
  return (
    <Dialog open={open} onOpenChange={of.onOpenChange} title={`Run ${of.workflow.name}`}>
      <RunForm {...of} />
    </Dialog>
  );
}

/** Made anew each time that the dialog opens: the same wish once more is another run. */
function RunForm({ workflow, agentId, onOpenChange }: Omit<RunDialogProps, 'open'>) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const keyOf = useIdempotencyKey();
  return (
    <Form
      submit="Run now"
      onSubmit={(values) => {
        const variables = Object.fromEntries(
          workflow.variables.map((name) => [name, values.exact(`variables.${name}`)]),
        );
        const body = { workflowId: workflow.id, agentId: values.text('agentId'), variables };
        return jobsLaunch({ body, headers: keyOf(body) });
      }}
      onDone={({ jobId }) => {
        onOpenChange(false);
        toast('The run is queued.');
        void client.invalidateQueries({ queryKey: ['runs'] });
        void navigate({ to: '/runs/$id', params: { id: jobId } });
      }}
    >
      <AgentField name="agentId" initial={agentId} />
      {workflow.variables.map((name) => (
        <TextField key={name} label={name} name={`variables.${name}`} autoComplete="off" />
      ))}
    </Form>
  );
}
