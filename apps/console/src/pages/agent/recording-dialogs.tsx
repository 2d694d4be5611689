import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import {
  agentActionsAct,
  type AgentActionBody,
  type Recording,
  videoAnalysesRead,
  videoAnalysesStart,
  workflowsUpload,
} from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { useAgentEvents } from '../../live/use-agent-events';
import { useThrottled } from '../../live/use-throttled';
import { WorkflowLink } from '../../parts/names';
import { Dialog } from '../../ui/dialog';
import { ErrorNote, ErrorWithAdvice } from '../../ui/error-note';
import { Form, SelectField, TextField } from '../../ui/form';
import { Progress, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { showToast } from '../../ui/toast';

interface NewRecordingProps {
  agentId: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
  begun: () => void;
}

export function NewRecordingDialog({ agentId, open, onOpenChange, begun }: NewRecordingProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="New recording">
      <Form
        submit="Start recording"
        onSubmit={(values) => {
          const [name, kind, startUrl] = ['name', 'kind', 'startUrl'].map((field) => values.readText(field));
          const body: AgentActionBody = {
            action: 'start_recording',
            ...(name ? { name } : {}),
            ...(kind ? { kind: kind as AgentActionBody['kind'] } : {}),
            ...(startUrl ? { startUrl } : {}),
          };
          return agentActionsAct({ path: { id: agentId }, body });
        }}
        onDone={() => {
          onOpenChange(false);
          showToast('The recording is starting.');
          begun();
        }}
      >
        <TextField label="Name" name="name" maxLength={200} autoComplete="off" />
        <SelectField
          label="Source"
          name="kind"
          options={[
            { value: '', label: 'The screen if there is one, otherwise a browser' },
            { value: 'screen', label: 'The screen' },
            { value: 'browser', label: 'A separate browser, whose steps are recorded too' },
          ]}
        />
        <TextField label="Start URL of the browser" name="startUrl" type="url" autoComplete="off" />
      </Form>
    </Dialog>
  );
}

/** Creates a workflow from the recorded browser steps, without a model. */
export function StepsDialog({ recording, close }: { recording: Recording; close: () => void }) {
  const navigate = useNavigate();
  return (
    <Dialog
      open
      onOpenChange={close}
      title="Create a workflow from the steps"
      description="The recorded browser steps become the steps of the workflow. Passwords are stored as secrets in the vault."
    >
      <Form
        submit="Create workflow"
        onSubmit={(values) => {
          const name = values.readText('name');
          return workflowsUpload({ body: { recordingId: recording.id, ...(name ? { name } : {}) } });
        }}
        onDone={({ id }) => {
          close();
          void navigate({ to: '/workflows/$id', params: { id } });
        }}
      >
        <TextField label="Name" name="name" hint="If empty, the name of the recording is used." autoComplete="off" />
      </Form>
    </Dialog>
  );
}

/** Creates a draft workflow with a model that analyzes the video. Uncertain steps are marked for review. */
export function AnalyzeRecordingDialog({ recording, close }: { recording: Recording; close: () => void }) {
  const [analysisId, setAnalysisId] = useState<string>();
  return (
    <Dialog
      open
      onOpenChange={close}
      title="Create a workflow with a language model"
      description="A language model analyzes images from the video. Steps that the model is not sure about wait for your review."
    >
      {analysisId ? (
        <AnalysisProgress agentId={recording.agentId} analysisId={analysisId} />
      ) : (
        <Form
          submit="Create workflow"
          onSubmit={(values) => {
            const [name, hint] = [values.readText('name'), values.readText('hint')];
            const body = { recordingId: recording.id, ...(name ? { name } : {}), ...(hint ? { hint } : {}) };
            return videoAnalysesStart({ path: { id: recording.agentId }, body });
          }}
          onDone={(started) => setAnalysisId(started.analysisId)}
        >
          <TextField label="Name" name="name" maxLength={200} autoComplete="off" />
          <TextField label="What the video shows" name="hint" maxLength={2000} autoComplete="off" />
        </Form>
      )}
    </Dialog>
  );
}

function AnalysisProgress({ agentId, analysisId }: { agentId: string; analysisId: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['analysis', analysisId],
    queryFn: ({ signal }) => videoAnalysesRead({ path: { id: agentId }, query: { analysisId }, signal }),
    refetchInterval: ({ state }) => (['completed', 'failed'].includes(state.data?.status ?? '') ? false : pollMs),
  });
  useAgentEvents(
    agentId,
    useThrottled(() => refetch(), 1000),
  );
  if (error && !data) return <ErrorNote error={error} retry={() => void refetch()} />;
  if (!data) return <Skeleton rows={2} />;
  const { status, progress, frames, workflowId } = data;
  return (
    <div className="flex flex-col gap-3" aria-live="polite">
      <StatusMark status={status} />
      {status === 'completed' || status === 'failed' ? null : <Progress percent={progress} label="Progress" />}
      <p className="text-dim">{frames} images were extracted from the video.</p>
      <ErrorWithAdvice error={data.error} code={data.code} />
      {workflowId && (
        <p>
          The draft is <WorkflowLink id={workflowId} />.
        </p>
      )}
      {status !== 'completed' && status !== 'failed' && (
        <p className="text-dim">
          The analysis continues if you close this dialog. The draft then appears under Workflows.
        </p>
      )}
    </div>
  );
}
