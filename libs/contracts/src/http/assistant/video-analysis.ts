import {
  DateTimeField,
  EnumField,
  IntField,
  NumberField,
  ObjectField,
  TextField,
  TextMapField,
  UuidField,
} from '../fields';

const analysisStatuses = ['queued', 'running', 'completed', 'failed'] as const;
type AnalysisStatus = (typeof analysisStatuses)[number];

export class VideoAnalyzeBody {
  @UuidField({ optional: true, description: 'A recording that is kept.' }) recordingId?: string;
  @TextField({
    optional: true,
    max: 1024,
    description: 'In its place: the key that POST /api/uploads, or a machine’s upload, was answered with.',
  })
  uploadKey?: string;
  @TextField({ optional: true, max: 200, description: 'What the workflow is to be called.' }) name?: string;
  @TextField({ optional: true, max: 2000, description: 'What is done in the film, in a sentence.' }) hint?: string;
}

export class VideoAnalysisStarted {
  @UuidField() analysisId!: string;
  @EnumField(['queued']) status!: 'queued';
}

export class VideoAnalysisQuery {
  @UuidField() analysisId!: string;
}

export class AnalysisUsage {
  @IntField({ max: Number.MAX_SAFE_INTEGER }) inputTokens!: number;
  @IntField({ max: Number.MAX_SAFE_INTEGER }) outputTokens!: number;
  @NumberField() costUsd!: number;
}

export class VideoAnalysis {
  @UuidField() analysisId!: string;
  @EnumField(analysisStatuses, { example: 'completed' }) status!: AnalysisStatus;
  @IntField({ max: 100, example: 100, description: 'In percent.' }) progress!: number;
  @UuidField({ optional: true, description: 'completed: the draft that it has become.' }) workflowId?: string;
  @TextField({ optional: true, max: 2000, description: 'failed: why.' }) error?: string;
  @TextField({ optional: true, example: 'no_steps_found', description: 'failed: the same for programs.' })
  code?: string;
  @IntField({ max: 200, example: 12, description: 'Pictures that were taken of the film.' }) frames!: number;
  @ObjectField(() => AnalysisUsage) usage!: AnalysisUsage;
}

export class FilmUploadBody {
  @TextField({
    max: 200,
    pattern: /^(video\/[\w.+-]+( ?; ?[\w.+-]+=([\w.+,-]+|"[\w.+, -]*"))*|application\/json)$/,
    example: 'video/webm',
    description: 'A film, or a recording of Chrome’s DevTools Recorder as JSON.',
  })
  contentType!: string;
  @IntField({ min: 1, max: Number.MAX_SAFE_INTEGER, example: 4_812_033, description: 'In bytes; at most 500 MiB.' })
  size!: number;
}

export class FilmUpload {
  @TextField({ max: 4096, format: 'uri' }) uploadUrl!: string;
  @TextField({ max: 1024 }) uploadKey!: string;
  @EnumField(['PUT']) method!: 'PUT';
  @TextMapField({ description: 'Must be sent as they are.' }) headers!: Record<string, string>;
  @DateTimeField() expiresAt!: string;
}
