import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { useState } from 'react';
import { feedbackSeverities } from '@muster/contracts/words';
import { feedbackSubmissionsAgents, feedbackSubmissionsCreate } from '../../api/generated';
import { Dialog } from '../../ui/dialog';
import { CheckField, ChoiceField, Form, SelectField, TextAreaField, TextField } from '../../ui/form';
import { showToast } from '../../ui/toast';
import { Screenshot } from './screenshot';

const kinds = [
  { value: 'bug_report', label: 'Bug: something is wrong' },
  { value: 'feature_request', label: 'Feature: something is missing' },
] as const;
type Kind = (typeof kinds)[number]['value'];

/** Report form that every page offers, filled in with the current page, agent and run. */
export function ReportDialog({ close }: { close: () => void }) {
  const [kind, setKind] = useState<Kind>('bug_report');
  const [picture, setPicture] = useState<File | null>(null);
  const [isHidden, setHidden] = useState(false);
  const client = useQueryClient();
  const { pathname } = useLocation();
  const [, page, id] = /\/(agents|runs)\/([0-9a-f-]{36})/.exec(pathname) ?? [];
  const { data } = useQuery({
    queryKey: ['feedback', 'agents'],
    queryFn: ({ signal }) => feedbackSubmissionsAgents({ signal }),
  });
  const isBug = kind === 'bug_report';
  return (
    <Dialog open onOpenChange={close} title="Report a bug or an idea" hidden={isHidden}>
      <Form
        submit="Send report"
        onSubmit={(values) => {
          const payload = {
            type: kind,
            title: values.readText('title'),
            description: values.readText('description'),
            agentId: values.readText('agentId') || undefined,
            url: values.readFlag('withAddress') ? location.href : undefined,
            ...(isBug
              ? {
                  severity: values.readText('severity') || undefined,
                  steps: values.readText('steps') || undefined,
                  jobId: page === 'runs' ? id : undefined,
                }
              : {}),
          };
          return feedbackSubmissionsCreate({
            body: { payload: JSON.stringify(payload), screenshot: picture ?? undefined },
          });
        }}
        onDone={() => {
          close();
          void client.invalidateQueries({ queryKey: ['feedback'] });
          showToast('Thank you. You can follow your report under Feedback.');
        }}
      >
        <SelectField
          label="Type"
          name="type"
          options={kinds}
          value={kind}
          onChange={({ target }) => setKind(target.value as Kind)}
        />
        <TextField label="Title" name="title" required maxLength={200} autoComplete="off" />
        <TextAreaField label="Description" name="description" required maxLength={10_000} />
        {isBug && (
          <>
            <TextAreaField label="Steps to reproduce" name="steps" rows={2} maxLength={10_000} />
            <SelectField
              label="Severity"
              name="severity"
              options={[{ value: '', label: 'Unknown' }, ...feedbackSeverities]}
            />
          </>
        )}
        <ChoiceField
          label="Agent"
          name="agentId"
          initial={page === 'agents' ? id : null}
          none="No agent"
          choices={(data?.agents ?? []).map(({ id: value, name }) => ({ value, label: name }))}
        />
        <CheckField label="Include the address of this page" name="withAddress" initial />
        <Screenshot picture={picture} change={setPicture} hide={setHidden} />
      </Form>
    </Dialog>
  );
}
