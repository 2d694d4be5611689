import { DateTimeField, EnumField, ListField, ObjectField, TextField, UuidField } from '../fields';
import { PageQuery } from '../pages';
import { AuditActor } from './audit';

/**
 * Kinds of data that a route reads and that can contain patient data, including the kinds that only older entries have.
 */
export const readSubjects = [
  'run',
  'runs',
  'log',
  'batch',
  'artifact',
  'artifacts',
  'recording',
  'recordings',
  'imaging',
  'schedule',
  'question',
  'questions',
  'chat',
  'autopilot',
  'session',
  'command',
  'film',
  'screen',
  'costs',
  'feedback',
  'access_log',
] as const;
export type ReadSubject = (typeof readSubjects)[number];

export class AccessSubject {
  @EnumField(readSubjects, { example: 'run' }) type!: ReadSubject;
  @TextField({
    max: 200,
    example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e',
    description:
      'ID of the resource that was read, or of the agent whose resources were read. Empty for a list of all.',
  })
  id!: string;
}

export class AccessEntry {
  @UuidField() id!: string;
  @DateTimeField({
    description:
      'Time of the first read. Repeated reads of the same resource within the same minute add no further entry.',
  })
  at!: string;
  @ObjectField(() => AuditActor) who!: AuditActor;
  @TextField({ max: 100, example: '203.0.113.7' }) address!: string;
  @TextField({ max: 200, example: 'GET /api/jobs/{id}' }) route!: string;
  @ObjectField(() => AccessSubject) subject!: AccessSubject;
}

export class AccessLogList {
  @ListField(() => AccessEntry) entries!: AccessEntry[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class AccessLogExportQuery {
  @TextField({ optional: true, max: 100, description: 'ID of the user or the API key that read the data.' })
  userId?: string;
  @TextField({
    optional: true,
    min: 1,
    max: 200,
    description: 'ID of the resource that was read, such as a run or a recording.',
  })
  subject?: string;
  @DateTimeField({ optional: true }) from?: string;
  @DateTimeField({ optional: true }) to?: string;
}

export class AccessLogQuery extends PageQuery {
  @TextField({ optional: true, max: 100, description: 'ID of the user or the API key that read the data.' })
  userId?: string;
  @TextField({
    optional: true,
    min: 1,
    max: 200,
    description: 'ID of the resource that was read, such as a run or a recording.',
  })
  subject?: string;
  @DateTimeField({ optional: true }) from?: string;
  @DateTimeField({ optional: true }) to?: string;
}
