import { BooleanField, EnumField, NumberField, ObjectField, TextField } from '../fields';

export class Health {
  @EnumField(['ok']) status!: 'ok';
  @TextField({ example: '0.1.0' }) version!: string;
  @NumberField({ example: 42.5 }) uptimeSeconds!: number;
  @BooleanField({
    optional: true,
    example: true,
    description:
      'True after the service was restored from a backup, until the operator releases it. Until then, it starts no ' +
      'machine, run or schedule. Otherwise absent.',
  })
  recoveryHold?: true;
}

export class HealthCheck {
  @EnumField(['ok', 'failed']) status!: 'ok' | 'failed';
  @NumberField({ nullable: true, example: 1.2 }) latencyMs!: number | null;
  @TextField({ optional: true, example: 'no answer within 2000 ms' }) reason?: string;
}

export class HealthChecks {
  @ObjectField(() => HealthCheck) database!: HealthCheck;
  @ObjectField(() => HealthCheck) queue!: HealthCheck;
  @ObjectField(() => HealthCheck) storage!: HealthCheck;
}

export class DeepHealth {
  @EnumField(['ok', 'degraded', 'failed']) status!: 'ok' | 'degraded' | 'failed';
  @ObjectField(() => HealthChecks) checks!: HealthChecks;
}
