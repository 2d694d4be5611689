import { DateTimeField, EnumField, ListField, ObjectField, TextField, UuidField } from '../fields';
import { PageQuery } from '../pages';
import { AuditActor } from './audit';

/** What may be a patient's, and is read by a route. */
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
  'question',
  'questions',
  'chat',
  'autopilot',
  'session',
  'command',
  'film',
] as const;
export type ReadSubject = (typeof readSubjects)[number];

export class AccessSubject {
  @EnumField(readSubjects, { example: 'run' }) type!: ReadSubject;
  @TextField({
    max: 200,
    example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e',
    description: 'The thing’s id, or the agent’s whose things were read; empty for a list of all.',
  })
  id!: string;
}

export class AccessEntry {
  @UuidField() id!: string;
  @DateTimeField({ description: 'The first read of its minute: the same read again within it leaves no further row.' })
  at!: string;
  @ObjectField(() => AuditActor) actor!: AuditActor;
  @TextField({ max: 100, example: '203.0.113.7' }) address!: string;
  @TextField({ max: 200, example: 'GET /api/jobs/{id}' }) route!: string;
  @ObjectField(() => AccessSubject) subject!: AccessSubject;
}

export class AccessLogList {
  @ListField(() => AccessEntry) entries!: AccessEntry[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class AccessLogExportQuery {
  @TextField({ optional: true, max: 100, description: 'Whose reads: the id of a user or of an API key.' })
  userId?: string;
  @TextField({ optional: true, min: 1, max: 200, description: 'Reads of what: the id of a run, a recording, …' })
  subject?: string;
  @DateTimeField({ optional: true }) from?: string;
  @DateTimeField({ optional: true }) to?: string;
}

export class AccessLogQuery extends PageQuery {
  @TextField({ optional: true, max: 100, description: 'Whose reads: the id of a user or of an API key.' })
  userId?: string;
  @TextField({ optional: true, min: 1, max: 200, description: 'Reads of what: the id of a run, a recording, …' })
  subject?: string;
  @DateTimeField({ optional: true }) from?: string;
  @DateTimeField({ optional: true }) to?: string;
}
