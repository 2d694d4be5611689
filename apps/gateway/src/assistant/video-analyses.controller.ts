import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { type AnalysisState, readAnalysis, requestVideoUpload, startAnalysis } from '@muster/assistant';
import {
  FilmUpload,
  FilmUploadBody,
  microsToUsd,
  VideoAnalysis,
  VideoAnalysisQuery,
  VideoAnalysisStarted,
  VideoAnalyzeBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';

const uploadSeconds = 3600;

@ApiTags('Assistant')
@Controller('/api')
export class VideoAnalysesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Post('/agents/:id/video-analyze')
  @Endpoint({
    summary: 'Draft a workflow from a recording',
    description:
      'Creates the draft from the recorded events of a browser, or from a video. For a video, the machine of the ' +
      'agent extracts images and a language model identifies the steps in them. A person must confirm each step ' +
      'that the model is not sure of.',
    access: allowSessionsAndKeys('runs.screens'),
    unsuspended: true,
    body: VideoAnalyzeBody,
    answer: VideoAnalysisStarted,
    status: 202,
    errors: ['agent_not_found', 'recording_not_found', 'conflict'],
    idempotent: true,
  })
  start(
    @Mutation() mutation: MutationRequest,
    @Param('id') agentId: string,
    @Body() body: VideoAnalyzeBody,
  ): Promise<VideoAnalysisStarted> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { id: analysisId } = await startAnalysis(tx, caller, agentId, body);
      const location = `/api/agents/${agentId}/video-analyze?analysisId=${analysisId}`;
      return { body: { analysisId, status: 'queued' as const }, location };
    });
  }

  @Get('/agents/:id/video-analyze')
  @Endpoint({
    summary: 'Read the progress of a recording’s analysis',
    reads: 'film',
    access: allowSessionsAndKeys('runs.read'),
    answer: VideoAnalysis,
    errors: ['not_found'],
  })
  async read(
    @OrganizationId() organizationId: string,
    @Param('id') agentId: string,
    @Query() { analysisId }: VideoAnalysisQuery,
  ): Promise<VideoAnalysis> {
    return presentAnalysis(await readAnalysis(this.database, { organizationId, agentId, analysisId }));
  }

  @Post('/uploads')
  @Endpoint({
    summary: 'Request an upload URL for a video',
    description:
      'Returns a presigned URL of the object store and the key that identifies the video afterwards. Send the bytes ' +
      'to the URL within an hour, with the returned method and headers.',
    access: allowSessionsAndKeys('runs.screens'),
    body: FilmUploadBody,
    answer: FilmUpload,
    status: 201,
  })
  upload(@Mutation() mutation: MutationRequest, @Body() body: FilmUploadBody): Promise<FilmUpload> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { uploadKey } = requestVideoUpload(tx, caller, body);
      const { url: uploadUrl, headers } = await this.storage.presignPut(uploadKey, {
        ...body,
        expiresInSeconds: uploadSeconds,
      });
      const expiresAt = new Date(this.clock.now().getTime() + uploadSeconds * 1000).toISOString();
      return { body: { uploadUrl, uploadKey, method: 'PUT' as const, headers, expiresAt } };
    });
  }
}

function presentAnalysis(row: AnalysisState): VideoAnalysis {
  const { id, status, progress, workflowId, error, code, frames, inputTokens, outputTokens, costMicros } = row;
  return {
    ...{ analysisId: id, status, progress, frames },
    ...(workflowId ? { workflowId } : {}),
    ...(error ? { error } : {}),
    ...(code ? { code } : {}),
    usage: { inputTokens, outputTokens, costUsd: microsToUsd(costMicros) },
  };
}
