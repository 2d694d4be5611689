import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PackDraft, WorkflowPack } from '../../api/generated';
import { usePermission } from '../../api/session';
import { formatCount, formatSize } from '../../format/format';
import { Time } from '../../format/time';
import { Button, getButtonClass } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { ActionMenu } from '../../ui/menu';
import { EmptyNote, Panel, Skeleton } from '../../ui/page';
import { AddFilesDialog, RemoveFileDialog, UploadBundleDialog } from './draft-dialogs';
import { buildDraftQuery } from './pack-queries';
import { PublishForm } from './publish-form';

type Open = 'upload' | 'add';

/** Files of the next version, and the ways to change them. */
export function DraftPanel({ pack }: { pack: WorkflowPack }) {
  const { data: draft, error, refetch } = useQuery(buildDraftQuery(pack.id));
  const [open, setOpen] = useState<Open | null>(null);
  const [removed, setRemoved] = useState<string | null>(null);
  const mayChange = usePermission('packs.write');
  const closeDialog = () => setOpen(null);
  const isPublished = pack.versions.some(({ runtimeBundleId }) => runtimeBundleId === draft?.runtimeBundleId);
  return (
    <Panel
      title="Draft"
      actions={
        mayChange &&
        draft !== undefined && (
          <>
            <Button onClick={() => setOpen('add')}>Add files</Button>
            <Button onClick={() => setOpen('upload')}>Upload bundle</Button>
          </>
        )
      }
    >
      {draft === undefined && (error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton />)}
      {draft === null && (
        <EmptyNote title="No draft yet.">
          Use “Add files” to create a draft from files, or “Upload bundle” for a zip. A worker can also publish a draft.
        </EmptyNote>
      )}
      {draft && (
        <>
          <p className="mb-2 text-dim">
            {formatCount(draft.files.length)} files, {formatSize(draft.size)} as a zip, by <bdi>{draft.createdBy}</bdi>,{' '}
            <Time at={draft.createdAt} relative />
            {isPublished && '; already published'}.{' '}
            <a href={draft.downloadUrl} className={getButtonClass('quiet')} rel="noreferrer">
              Download
            </a>
          </p>
          {mayChange && !isPublished && <PublishForm pack={pack} />}
          <DraftFiles draft={draft} remove={mayChange ? setRemoved : undefined} />
        </>
      )}
      {open === 'upload' && <UploadBundleDialog pack={pack} draft={draft ?? null} close={closeDialog} />}
      {open === 'add' && <AddFilesDialog pack={pack} draft={draft ?? null} close={closeDialog} />}
      {removed !== null && draft && (
        <RemoveFileDialog pack={pack} draft={draft} path={removed} close={() => setRemoved(null)} />
      )}
    </Panel>
  );
}

function DraftFiles({ draft, remove }: { draft: PackDraft; remove?: (path: string) => void }) {
  return (
    <div tabIndex={0} role="region" aria-label="Files of the draft" className="max-h-96 overflow-auto">
      <table className="w-full [&_td]:border-t [&_td]:border-line [&_td]:py-1 [&_td]:pr-3">
        <thead className="text-left text-xs text-dim">
          <tr>
            <th scope="col" className="pb-1.5 font-medium">
              Path
            </th>
            <th scope="col" className="w-24 pb-1.5 font-medium">
              Size
            </th>
            <th scope="col" className="w-36 pb-1.5 font-medium max-sm:hidden">
              Digest
            </th>
            {remove && (
              <th scope="col" className="w-12">
                <span className="sr-only">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {draft.files.map(({ path, size, sha256 }) => (
            <tr key={path}>
              <td className="font-mono text-xs break-all">
                <bdi>{path}</bdi>
              </td>
              <td className="whitespace-nowrap tabular-nums">{formatSize(size)}</td>
              <td className="font-mono text-xs text-dim max-sm:hidden" title={sha256}>
                {sha256.slice(0, 12)}
              </td>
              {remove && (
                <td>
                  <ActionMenu name={path} actions={[{ label: 'Remove', danger: true, run: () => remove(path) }]} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
