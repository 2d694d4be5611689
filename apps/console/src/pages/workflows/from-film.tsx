import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { readFirstItems } from '../../api/read-all-items';
import { recordingsList, videoAnalysesStart, videoAnalysesUpload } from '../../api/generated';
import { useIdempotencyKey } from '../../api/idempotency';
import { putObject } from '../../api/objects';
import { formatDateTime, formatSize } from '../../format/format';
import { AgentField } from '../../parts/pickers';
import { Dialog } from '../../ui/dialog';
import { Field, Form, inputClass, SelectField, TextField } from '../../ui/form';
import { useUrlState } from '../../ui/table/use-url-state';

const most = 50;

/** Creates a workflow draft from a video that an agent recorded or that the user uploads. */
export function WorkflowFromVideoDialog({ close }: { close: () => void }) {
  const [, change] = useUrlState();
  const [agentId, setAgentId] = useState('');
  const [recordingId, setRecordingId] = useState('');
  const [sent] = useState(new Map<File, string>());
  const keyOf = useIdempotencyKey();
  const { data } = useQuery({
    queryKey: ['recordings', agentId],
    enabled: agentId !== '',
    queryFn: ({ signal }) =>
      readFirstItems(most, async (page) => {
        const path = { id: agentId };
        const { recordings: items, nextCursor } = await recordingsList({
          path,
          query: { ...page, status: 'kept' },
          signal,
        });
        return { items, nextCursor };
      }),
  });
  const recordings = (data?.items ?? []).map(({ id, name, createdAt, size }) => ({
    value: id,
    label: [name ?? 'Recording', formatDateTime(createdAt), size === null ? '' : formatSize(size)]
      .filter(Boolean)
      .join(', '),
  }));
  /** The video is uploaded only once, even if the next request is retried. */
  const uploadOnce = async (film: File): Promise<string> => {
    const known = sent.get(film);
    if (known) return known;
    const ticket = await videoAnalysesUpload({ body: { contentType: getContentType(film), size: film.size } });
    await putObject(ticket, film);
    sent.set(film, ticket.uploadKey);
    return ticket.uploadKey;
  };
  return (
    <Dialog
      open
      onOpenChange={close}
      title="New from video"
      description="The steps in the video become a draft workflow. Uncertain steps must be confirmed before they run."
    >
      <Form
        submit="Analyze"
        onSubmit={async (values) => {
          const [name, hint] = [values.readText('name'), values.readText('hint')];
          const from = recordingId ? { recordingId } : { uploadKey: await uploadOnce(values.readFile('film')!) };
          const body = { ...from, ...(name ? { name } : {}), ...(hint ? { hint } : {}) };
          const agent = values.readText('agentId');
          const { analysisId } = await videoAnalysesStart({
            path: { id: agent },
            body,
            headers: keyOf({ agent, body }),
          });
          return { analysisId, agentId: agent };
        }}
        onDone={(analysis) => {
          close();
          change(analysis);
        }}
      >
        <AgentField name="agentId" choose={setAgentId} />
        <SelectField
          label="Video"
          name="recordingId"
          value={recordingId}
          onChange={({ target }) => setRecordingId(target.value)}
          hint="The agent extracts images from the video."
          options={[{ value: '', label: 'A video from this computer' }, ...recordings]}
        />
        {recordingId === '' && (
          <Field label="File" name="film" hint="At most 500 MiB and one hour.">
            {(control) => <input {...control} type="file" accept="video/*" required className={inputClass} />}
          </Field>
        )}
        <TextField label="Name" name="name" maxLength={200} hint="Name of the new workflow." autoComplete="off" />
        <TextField
          label="Hint"
          name="hint"
          maxLength={2000}
          hint="One sentence about what the video shows."
          autoComplete="off"
        />
      </Form>
    </Dialog>
  );
}

function getContentType({ type }: File): string {
  return type.startsWith('video/') ? type : 'video/mp4';
}
