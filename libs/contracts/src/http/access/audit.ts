import {
  BooleanField,
  DateTimeField,
  DayField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  ObjectField,
  TextField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';

export const actorKinds = ['user', 'api_key', 'system'] as const;
export type ActorKind = (typeof actorKinds)[number];

export class AuditActor {
  @EnumField(actorKinds) kind!: ActorKind;
  @TextField({ example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }) id!: string;
  @TextField({ optional: true, example: 'admin@example.com' }) email?: string;
}

export class AuditTarget {
  @TextField({ example: 'user' }) type!: string;
  @TextField({ example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }) id!: string;
}

export class AuditEntry {
  @UuidField() id!: string;
  @DateTimeField() at!: string;
  @ObjectField(() => AuditActor) actor!: AuditActor;
  @TextField({ example: 'user.update' }) action!: string;
  @ObjectField(() => AuditTarget) target!: AuditTarget;
  @JsonField({
    description:
      'Changed fields: for each, an array with the value before and the value after. Secrets are not included.',
    example: { role: ['member', 'admin'] },
  })
  changes!: Record<string, unknown>;
  @TextField({ nullable: true, example: 'c0ffee00c0ffee00' }) requestId!: string | null;
}

export class AuditList {
  @ListField(() => AuditEntry) entries!: AuditEntry[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class AuditQuery extends PageQuery {
  @TextField({ optional: true, max: 100, description: 'Name of the action, such as user.update.' }) action?: string;
  @TextField({ optional: true, max: 100 }) actorId?: string;
  @TextField({ optional: true, max: 100 }) targetId?: string;
  @TextField({
    optional: true,
    max: 200,
    description: 'Part of the action, of the actor’s email address or ID, or of the target.',
  })
  q?: string;
  @DateTimeField({ optional: true }) from?: string;
  @DateTimeField({ optional: true }) to?: string;
}

export class AuditProofQuery {
  @DayField({ optional: true, description: 'Day in UTC; the present day by default.' }) day?: string;
}

export class LogProof {
  @IntField({ example: 42, description: 'Number of rows of the day.' }) rows!: number;
  @TextField({
    example: '0'.repeat(64),
    description: 'Hash of the day before. 64 zeros on 2020-01-01, with which every chain begins.',
  })
  previous!: string;
  @TextField({
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    description:
      'SHA-256, in hex, of `previous`, a line feed, and each row of the day in the order of the IDs: its RFC 8785 ' +
      'JSON as the list shows it, and a line feed.',
  })
  hash!: string;
}

export class AuditProof {
  @DayField() day!: string;
  @BooleanField({
    example: true,
    description:
      'Whether the day is closed, so that no row can be added to it. The hash of an open day changes with each row.',
  })
  closed!: boolean;
  @ObjectField(() => LogProof) audit!: LogProof;
  @ObjectField(() => LogProof) accessLog!: LogProof;
}
