import {
  draftsFinalize,
  draftsPut,
  draftsRead,
  draftsUpload,
  type EnsurePackBody,
  type FinalizeUploadBody,
  type PackVersion,
  type PackVersionList,
  packsEnsure,
  packsList,
  packsRead,
  packsUpdate,
  type PromoteVersionBody,
  type PublishVersionBody,
  type PutDraftBody,
  type UpdatePackBody,
  versionsDiff,
  versionsExport,
  versionsList,
  versionsPromote,
  versionsPublish,
  type WorkflowPackList,
  type WorkflowPackSummary,
} from '../generated';
import { List } from '../list';
import { MusterError, toMusterError } from '../muster-error';
import { type CallOptions, Resource } from '../resource';

/**
 * Packs: bundles of files that workflows import, with a draft, versions and stages. These methods require a signed-in
 * user; an API key is not accepted.
 */
export class Packs extends Resource {
  list(call?: CallOptions): List<WorkflowPackSummary, WorkflowPackList> {
    return new List(
      (page) => packsList({ ...this.with(call), query: page }),
      ({ packs }) => packs,
    );
  }

  /** Returns the pack of a process in the library. Creates the pack if it does not exist. */
  ensure(body: EnsurePackBody, call?: CallOptions) {
    return packsEnsure({ ...this.with(call), body });
  }

  get(id: string, call?: CallOptions) {
    return packsRead({ ...this.with(call), path: { id } });
  }

  update(id: string, body: UpdatePackBody, call?: CallOptions) {
    return packsUpdate({ ...this.with(call), path: { id }, body });
  }

  draft(id: string, call?: CallOptions) {
    return draftsRead({ ...this.with(call), path: { id } });
  }

  /** Replaces the draft with a zip of up to 16 MiB, in base64. */
  putDraft(id: string, body: PutDraftBody, call?: CallOptions) {
    return draftsPut({ ...this.with(call), path: { id }, body });
  }

  /** Replaces the draft with a zip of up to 64 MiB, which is uploaded to the object store. */
  async uploadDraft(id: string, zip: Blob, body: Omit<FinalizeUploadBody, 'uploadKey'>, call?: CallOptions) {
    const contentType = 'application/zip';
    const ticket = await draftsUpload({ ...this.with(call), path: { id }, body: { contentType } });
    const headers = ticket.headers as Record<string, string>;
    await this.put(new Request(ticket.uploadUrl, { method: ticket.method, headers, body: zip, signal: call?.signal }));
    const { uploadKey } = ticket;
    return draftsFinalize({ ...this.with(call), path: { id }, body: { ...body, uploadKey } });
  }

  versions(id: string, call?: CallOptions): List<PackVersion, PackVersionList> {
    return new List(
      (page) => versionsList({ ...this.with(call), path: { id }, query: page }),
      ({ versions }) => versions,
    );
  }

  /** Publishes the draft as a version. */
  publish(id: string, body: PublishVersionBody = {}, call?: CallOptions) {
    return versionsPublish({ ...this.with(call), path: { id }, body });
  }

  promote(id: string, versionId: string, body: PromoteVersionBody, call?: CallOptions) {
    return versionsPromote({ ...this.with(call), path: { id, versionId }, body });
  }

  /** Returns the files that differ between the version `from` and this version. */
  diff(id: string, versionId: string, from: string, call?: CallOptions) {
    return versionsDiff({ ...this.with(call), path: { id, versionId }, query: { from } });
  }

  /** Returns a zip with the files of a version and its manifest. */
  export(id: string, versionId: string, call?: CallOptions): Promise<Blob> {
    return versionsExport({ ...this.with(call), path: { id, versionId }, parseAs: 'blob' }) as Promise<Blob>;
  }

  /** Sends a request to the object store, without the credentials of the caller. */
  private async put(request: Request): Promise<void> {
    const send = this.client.getConfig().fetch ?? fetch;
    const answer = await send(request).catch((error: unknown) => {
      throw request.signal.aborted ? error : toMusterError(error);
    });
    if (answer.ok) return;
    throw new MusterError(answer.status, {
      code: 'upload_failed',
      detail: `The upload failed: the object store responded with status ${answer.status}.`,
    });
  }
}
