import { Body, Controller, Get, Inject, Param, Post, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Caller,
  Endpoint,
  IfMatch,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  type Principal,
  allowSessions,
  allowWorkersAndSessions,
} from '@muster/access';
import {
  BundleUploadBody,
  BundleUploadTicket,
  FinalizeUploadBody,
  ImportVersionForm,
  PackDraft,
  PutDraftBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import {
  startUpload,
  type DraftExpectation,
  finalizeUpload,
  findPackDraft,
  maxExportBytes,
  setDraftHead,
  type PreparedDraft,
  prepareDirectDraft,
  prepareImport,
  prepareUpload,
  presentPackDraft,
  readBundle,
  uploadSeconds,
} from '@muster/packs';
import { checkBody, toEtag, FormOrJson, Given, Reply, ReplyHead } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { toLegacyError, buildDeprecationHeaders } from './legacy-publish';

const mebibyte = 1024 * 1024;
const directLimit = 24 * mebibyte;
const getDraftPath = (packId: string) => `/api/workflow-packs/${packId}/draft`;
/** Bundles take long to store and to check, so these requests have no timeout. The client decides how long to wait. */
const hasNoTimeout = true;
const pathRule =
  'A bundle with a path of more than 1,024 bytes or 100 parts, or with a part of more than 255 bytes, is rejected ' +
  'with bundle_rejected.';

@ApiTags('Workflow packs')
@Controller('/api/workflow-packs/:id')
export class DraftsController {
  constructor(
    @Inject(Database) readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(ObjectStorage) readonly storage: ObjectStorage,
  ) {}

  @Get('/draft')
  @Endpoint({
    summary: 'Read a pack’s draft',
    access: allowSessions('packs.read'),
    answer: PackDraft,
    errors: ['not_found', 'draft_not_found'],
    etag: 'read',
  })
  async read(
    @Reply() reply: ReplyHead,
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
  ): Promise<PackDraft> {
    const row = await findPackDraft(this, organizationId, id);
    reply.setEtag(row.id);
    return presentPackDraft(this.storage, organizationId, row);
  }

  @Put('/draft')
  @Endpoint({
    summary: 'Upload a bundle as the draft',
    description: pathRule,
    access: allowSessions('packs.write'),
    body: PutDraftBody,
    bodyLimit: directLimit,
    answer: PackDraft,
    errors: ['not_found', 'draft_head_conflict', 'bundle_rejected'],
    etag: 'change',
    waits: hasNoTimeout,
  })
  put(
    @Mutation() mutation: MutationRequest,
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() body: PutDraftBody,
    @IfMatch() ifMatch?: string,
  ): Promise<PackDraft> {
    return this.replaceDraftFromBody(mutation, caller, { packId: id, body, ifMatch });
  }

  @Post('/publish-from-vm')
  @Endpoint({
    summary: 'Upload a bundle as the draft, in one request',
    description:
      'Deprecated: exists only for older workers. Use publish-from-vm/upload and publish-from-vm/finalize instead. ' +
      'If the body cannot be parsed, the response is 400 with `parseError` and `contentLength`. ' +
      pathRule,
    access: allowWorkersAndSessions('packs.write'),
    body: PutDraftBody,
    bodyLimit: directLimit,
    answer: PackDraft,
    status: 201,
    errors: ['not_found', 'draft_head_conflict', 'bundle_rejected'],
    failsAs: toLegacyError,
    waits: hasNoTimeout,
  })
  publish(
    @Mutation() mutation: MutationRequest,
    @Caller() caller: Principal,
    @Reply() reply: ReplyHead,
    @Param('id') id: string,
    @Body() body: PutDraftBody,
  ): Promise<PackDraft> {
    reply.setHeaders(buildDeprecationHeaders(id));
    return this.replaceDraftFromBody(mutation, caller, { packId: id, body });
  }

  @Post('/publish-from-vm/upload')
  @Endpoint({
    summary: 'Request an upload URL for a bundle',
    description:
      'Upload the zip directly to the object store within 15 minutes, with exactly the returned headers. The zip ' +
      'can have at most 64 MiB. Then call publish-from-vm/finalize.',
    access: allowWorkersAndSessions('packs.write'),
    body: BundleUploadBody,
    answer: BundleUploadTicket,
    status: 201,
    errors: ['not_found'],
  })
  upload(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() body: BundleUploadBody,
  ): Promise<BundleUploadTicket> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { uploadKey, contentType, expiresAt } = await startUpload(tx, caller, id, body);
      const ticket = await this.storage.presignPut(uploadKey, { contentType, expiresInSeconds: uploadSeconds });
      return {
        body: {
          uploadUrl: ticket.url,
          uploadKey,
          method: 'PUT',
          headers: ticket.headers,
          expiresAt: expiresAt.toISOString(),
        },
        location: getDraftPath(id),
      };
    });
  }

  @Post('/publish-from-vm/finalize')
  @Endpoint({
    summary: 'Make an uploaded bundle the draft',
    description:
      'The upload becomes the draft head (the newest draft) only if the current draft head is ' +
      '`baseRuntimeBundleId`. The request can be repeated safely: if the upload is already the draft head, the ' +
      'response is the same again. ' +
      pathRule,
    access: allowWorkersAndSessions('packs.write'),
    body: FinalizeUploadBody,
    bodyLimit: 8 * mebibyte,
    answer: PackDraft,
    status: 201,
    errors: [
      'not_found',
      'upload_not_found',
      'upload_missing',
      'upload_used',
      'conflict',
      'draft_head_conflict',
      'bundle_rejected',
    ],
    waits: hasNoTimeout,
  })
  async finalize(
    @Mutation() mutation: MutationRequest,
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() body: FinalizeUploadBody,
  ): Promise<PackDraft> {
    const prepared = await prepareUpload(this, caller, id, body);
    const { runtimeBundleId } = await this.mutations.runMutation(
      mutation,
      async (tx) => {
        const head = await finalizeUpload(tx, caller, prepared);
        return { body: { runtimeBundleId: head }, location: getDraftPath(id), etag: toEtag(head) };
      },
      { unaudited: 'an upload that is the draft head already changes nothing' },
    );
    const { organizationId } = caller;
    return presentPackDraft(this.storage, organizationId, await readBundle(this, organizationId, runtimeBundleId));
  }

  @Post('/import')
  @Endpoint({
    summary: 'Import an exported version as the draft',
    description: pathRule,
    access: allowSessions('packs.write'),
    form: ImportVersionForm,
    bodyLimit: maxExportBytes + mebibyte,
    answer: PackDraft,
    status: 201,
    errors: ['not_found', 'draft_head_conflict', 'bundle_rejected'],
    idempotent: true,
    waits: hasNoTimeout,
  })
  async import(
    @Mutation() mutation: MutationRequest,
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Given() input: FormOrJson,
  ): Promise<PackDraft> {
    const { prepared, expected } = await prepareImport(this, caller, id, async (spool) => {
      const { fields, file } = await input.readForm({ file: 'file', maxFileBytes: maxExportBytes }, spool);
      const form = checkBody(ImportVersionForm, { ...fields, ...(file ? { file: 'given' } : {}) });
      return { archive: file!.content, expected: { baseRuntimeBundleId: form.baseRuntimeBundleId } };
    });
    return this.replaceDraft(mutation, caller, { packId: id, prepared, expected });
  }

  private async replaceDraftFromBody(
    mutation: MutationRequest,
    caller: Principal,
    { packId, body, ifMatch }: { packId: string; body: PutDraftBody; ifMatch?: string },
  ): Promise<PackDraft> {
    const { bundleBase64, files, baseRuntimeBundleId } = body;
    const expected = { baseRuntimeBundleId, ifMatch };
    const prepared = await prepareDirectDraft(this, caller, { packId, bundleBase64, files, expected });
    return this.replaceDraft(mutation, caller, { packId, prepared, expected });
  }

  private async replaceDraft(
    mutation: MutationRequest,
    caller: Principal,
    { packId, prepared, expected }: { packId: string; prepared: PreparedDraft; expected: DraftExpectation },
  ): Promise<PackDraft> {
    const { runtimeBundleId, files } = prepared;
    return this.mutations.runMutation(mutation, async (tx) => {
      const row = await setDraftHead(tx, caller, { packId, runtimeBundleId, expected });
      const body = await presentPackDraft(this.storage, caller.organizationId, { ...row, files });
      return { body, location: getDraftPath(packId), etag: toEtag(row.id) };
    });
  }
}
