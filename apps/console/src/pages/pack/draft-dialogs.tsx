import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { BundleFileEntry, PackDraft, WorkflowPack } from '../../api/generated';
import { getObject } from '../../api/objects';
import { formatSize } from '../../format/format';
import { useVersionedSave } from '../../ui/conflict';
import { ConfirmDialog, Dialog } from '../../ui/dialog';
import { Field, Form, inputClass, TextField } from '../../ui/form';
import { showToast } from '../../ui/toast';
import { listInventory, sendDraft } from './bundle/send-draft';
import { readZip, makeZip, type ZipEntry } from './bundle/zip';
import { buildDraftQuery } from './pack-queries';

interface DraftDialogProps {
  pack: WorkflowPack;
  /** Null if the pack has no draft yet. */
  draft: PackDraft | null;
  close: () => void;
}

/** The files by which two drafts are compared. The entity tag of a draft is the id of its bundle. */
interface Content {
  files: BundleFileEntry[];
}

/** Replaces the whole draft with a zip. */
export function UploadBundleDialog({ pack, draft, close }: DraftDialogProps) {
  const { send, conflict, done } = useSendDraft(pack, draft, close);
  return (
    <Dialog
      open
      onOpenChange={close}
      title="Upload bundle"
      description="The zip replaces the whole draft. Published versions do not change."
    >
      <Form
        submit="Upload"
        onSubmit={async (values) => {
          const file = values.readFile('bundle')!;
          return send(file, await readZip(new Uint8Array(await file.arrayBuffer())));
        }}
        onDone={done}
      >
        <Field label="Bundle" name="bundle" hint="A zip of at most 64 MiB.">
          {(control) => (
            <input {...control} type="file" accept=".zip,application/zip" required className={inputClass} />
          )}
        </Field>
      </Form>
      {conflict}
    </Dialog>
  );
}

/** Adds files to the draft. A file in the draft with the same path is replaced. */
export function AddFilesDialog({ pack, draft, close }: DraftDialogProps) {
  const { send, conflict, done } = useSendDraft(pack, draft, close);
  return (
    <Dialog
      open
      onOpenChange={close}
      title="Add files"
      description="A file in the draft with the same path is replaced."
    >
      <Form
        submit="Add"
        onSubmit={async (values) => {
          const folder = values.readText('folder').replace(/^\/+|\/+$/g, '');
          const added = await Promise.all(values.readFiles('files').map((file) => toZipEntry(file, folder)));
          const paths = new Set(added.map(({ path }) => path));
          const remaining = (await readDraftEntries(draft)).filter(({ path }) => !paths.has(path));
          const entries = [...remaining, ...added];
          return send(await makeZip(entries), entries);
        }}
        onDone={done}
      >
        <Field label="Files" name="files">
          {(control) => <input {...control} type="file" multiple required className={inputClass} />}
        </Field>
        <TextField
          label="Folder"
          name="folder"
          hint="Folder in the bundle. If empty, the top level."
          autoComplete="off"
        />
      </Form>
      {conflict}
    </Dialog>
  );
}

interface RemoveFileProps extends DraftDialogProps {
  draft: PackDraft;
  path: string;
}

export function RemoveFileDialog({ pack, draft, path, close }: RemoveFileProps) {
  const { send, conflict, done } = useSendDraft(pack, draft, close);
  return (
    <>
      <ConfirmDialog
        open
        onOpenChange={close}
        title="Remove a file?"
        verb="Remove"
        act={async () => {
          const entries = (await readDraftEntries(draft)).filter((entry) => entry.path !== path);
          done(await send(await makeZip(entries), entries));
        }}
      >
        <code className="font-mono text-xs break-all">{path}</code> is removed from the draft. Published versions do not
        change.
      </ConfirmDialog>
      {conflict}
    </>
  );
}

function useSendDraft({ id }: WorkflowPack, draft: PackDraft | null, close: () => void) {
  // The draft at the start of the change, so that another user's upload is shown as a conflict and not overwritten.
  const [base] = useState(draft);
  const [sent] = useState<{ zip?: Blob }>({});
  const client = useQueryClient();
  const { save, conflict } = useVersionedSave<Content, Content>({
    read: async () => getDraftContent(await client.fetchQuery({ ...buildDraftQuery(id), staleTime: 0 })),
    write: async ({ files }, head) =>
      getDraftContent(await sendDraft({ packId: id, zip: sent.zip!, files, base: head || null })),
    labels: { files: 'Files' },
    show: (files) => (files as BundleFileEntry[]).map(describeFile).join('\n') || '–',
  });
  const sendBundle = async (bundle: Blob, entries: ZipEntry[]) => {
    sent.zip = bundle;
    return save({ files: await listInventory(entries) }, getDraftContent(base));
  };
  const finishSend = ({ isMine }: { isMine: boolean }) => {
    void client.invalidateQueries({ queryKey: ['packs'] });
    close();
    showToast(isMine ? 'The draft was changed.' : 'Your change was not saved.');
  };
  return { send: sendBundle, conflict, done: finishSend };
}

function getDraftContent(draft: PackDraft | null) {
  return { files: draft?.files ?? [], etag: draft?.runtimeBundleId ?? '' };
}

function describeFile({ path, size, sha256 }: BundleFileEntry): string {
  return `${path}  ${formatSize(size)}  ${sha256.slice(0, 12)}`;
}

async function readDraftEntries(draft: PackDraft | null): Promise<ZipEntry[]> {
  return draft ? readZip(await getObject(draft.downloadUrl)) : [];
}

async function toZipEntry(file: File, folder: string): Promise<ZipEntry> {
  const path = folder ? `${folder}/${file.name}` : file.name;
  return { path: path.normalize('NFC'), content: new Uint8Array(await file.arrayBuffer()) };
}
