import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { feedbackSeverities } from '@muster/contracts/words';
import { feedbackSubmissionsCreate, type Job } from '../api/generated';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';
import { Form, SelectField, TextAreaField, TextField } from '../ui/form';
import { showToast } from '../ui/toast';
import { shortenId } from './names';

/** Button and form that report a problem with a workflow. The report refers to the run in which it occurred. */
export function ReportIssue({ run }: { run: Job }) {
  const [isOpen, setOpen] = useState(false);
  const client = useQueryClient();
  return (
    <>
      <Button onClick={() => setOpen(true)}>Report issue</Button>
      <Dialog
        open={isOpen}
        onOpenChange={setOpen}
        title="Report a workflow issue"
        description={`The report includes run ${shortenId(run.id)}, its workflow and its agent.`}
      >
        <Form
          submit="Send report"
          onSubmit={(values) => {
            const payload = {
              type: 'workflow_issue_report',
              title: values.readText('title'),
              description: values.readText('description'),
              severity: values.readText('severity') || undefined,
              workflowId: run.workflowId,
              jobId: run.id,
              agentId: run.agentId,
            };
            return feedbackSubmissionsCreate({ body: { payload: JSON.stringify(payload) } });
          }}
          onDone={() => {
            setOpen(false);
            void client.invalidateQueries({ queryKey: ['feedback'] });
            showToast('Thank you. You can follow your report under Feedback.');
          }}
        >
          <TextField label="Title" name="title" required maxLength={200} autoComplete="off" />
          <TextAreaField
            label="Description"
            name="description"
            required
            maxLength={10_000}
            defaultValue={run.error?.slice(0, 9000) ?? ''}
          />
          <SelectField
            label="Severity"
            name="severity"
            options={[{ value: '', label: 'Unknown' }, ...feedbackSeverities]}
          />
        </Form>
      </Dialog>
    </>
  );
}
