import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { firstOf } from '../../api/all-of';
import { recordingsList, videoAnalysesStart, videoAnalysesUpload } from '../../api/generated';
import { useIdempotencyKey } from '../../api/idempotency';
import { putObject } from '../../api/objects';
import { formatDateTime, formatSize } from '../../format/format';
import { AgentField } from '../../parts/pickers';
import { Dialog } from '../../ui/dialog';
import { Field, Form, inputClass, SelectField, TextField } from '../../ui/form';
import { useUrlState } from '../../ui/table/use-url-state';

const most = 50;

/** A draft of what is seen in a film: one that an agent has recorded, or one of this machine. */
export function FromFilmDialog({ close }: { close: () => void }) {
  const [, change] = useUrlState();
  const [agentId, setAgentId] = useState('');
  const [recordingId, setRecordingId] = useState('');
  const [sent] = useState(new Map<File, string>());
  const keyOf = useIdempotencyKey();
  const { data } = useQuery({
    queryKey: ['recordings', agentId],
    enabled: agentId !== '',
    queryFn: ({ signal }) =>
      firstOf(most, async (page) => {
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
  /** The film goes to the store once, also where what follows is tried again. */
  const uploadKeyOf = async (film: File): Promise<string> => {
    const known = sent.get(film);
    if (known) return known;
    const ticket = await videoAnalysesUpload({ body: { contentType: typeOf(film), size: film.size } });
    await putObject(ticket, film);
    sent.set(film, ticket.uploadKey);
    return ticket.uploadKey;
  };
  return (
    <Dialog
      open
      onOpenChange={close}
      title="New from video"
      description="The steps that are seen in it become a draft. Those that are not certain wait for a person’s look before they run."
    >
      <Form
        submit="Analyze"
        onSubmit={async (values) => {
          const [name, hint] = [values.text('name'), values.text('hint')];
          const from = recordingId ? { recordingId } : { uploadKey: await uploadKeyOf(values.file('film')!) };
          const body = { ...from, ...(name ? { name } : {}), ...(hint ? { hint } : {}) };
          const agent = values.text('agentId');
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
          label="Film"
          name="recordingId"
          value={recordingId}
          onChange={({ target }) => setRecordingId(target.value)}
          hint="Pictures are taken of it on the agent."
          options={[{ value: '', label: 'A film of this machine' }, ...recordings]}
        />
        {recordingId === '' && (
          <Field label="File" name="film" hint="At most 500 MiB and an hour.">
            {(control) => <input {...control} type="file" accept="video/*" required className={inputClass} />}
          </Field>
        )}
        <TextField
          label="Name"
          name="name"
          maxLength={200}
          hint="What the workflow is to be called."
          autoComplete="off"
        />
        <TextField
          label="Hint"
          name="hint"
          maxLength={2000}
          hint="What is done in it, in a sentence."
          autoComplete="off"
        />
      </Form>
    </Dialog>
  );
}

function typeOf({ type }: File): string {
  return type.startsWith('video/') ? type : 'video/mp4';
}
