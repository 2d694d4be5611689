import { DateTimeField, EnumField, JsonField, ListField, ObjectField, TextField, UuidField } from '../fields';
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
    description: 'Changed values; [before, after] for a field that was changed. Secrets are not included.',
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
