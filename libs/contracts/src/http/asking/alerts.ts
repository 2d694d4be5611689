import {
  BooleanField,
  DateTimeField,
  EnumField,
  IdListField,
  IntField,
  ListField,
  ObjectField,
  TextField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';
import {
  alertRules,
  type AlertRuleName,
  alertStatuses,
  type AlertStatus,
  alertSubjectTypes,
  type AlertSubjectType,
  type RunFailedMode,
  runFailedModes,
} from './alert-words';

const channelIds = {
  maxItems: 20,
  description:
    'Ids of the notification channels to which the rule’s alerts are sent. A channel’s filter also applies to ' +
    'alerts; its `events` do not.',
};
const when = {
  example: 'first',
  description:
    'Option of run_failed. first: a message for the first failed run after a completed one. every: a message for ' +
    'each failed run. in_a_row: an alert when `times` runs of a workflow have failed without a completed run ' +
    'between them.',
};
const times = {
  min: 2,
  max: 100,
  example: 3,
  description: 'Option of run_failed with `when` in_a_row: number of failed runs; 3 when absent.',
};
const minutes = {
  min: 1,
  max: 10_080,
  example: 15,
  description:
    'Option of run_waiting: minutes that a run waits; 15 when absent. Option of question_expiring: minutes before a ' +
    'question expires; 5 when absent.',
};
const hours = {
  min: 1,
  max: 720,
  example: 2,
  description: 'Option of machine_on_without_reason: hours without work; 2 when absent.',
};
const percent = {
  min: 1,
  max: 100,
  example: 80,
  description: 'Option of spend: percentage of the monthly spend limit; 80 when absent.',
};

export class SetAlertRuleBody {
  @BooleanField({ example: true, description: 'Whether the rule opens alerts. false resolves its open alerts.' })
  enabled!: boolean;
  @IdListField({ ...channelIds, optional: true }) channelIds?: string[];
  @EnumField(runFailedModes, { ...when, optional: true }) when?: RunFailedMode;
  @IntField({ ...times, optional: true }) times?: number;
  @IntField({ ...minutes, optional: true }) minutes?: number;
  @IntField({ ...hours, optional: true }) hours?: number;
  @IntField({ ...percent, optional: true }) percent?: number;
}

export class AlertRule {
  @EnumField(alertRules, { example: 'run_failed' }) rule!: AlertRuleName;
  @BooleanField({ example: true }) enabled!: boolean;
  @IdListField(channelIds) channelIds!: string[];
  @EnumField(runFailedModes, { ...when, optional: true }) when?: RunFailedMode;
  @IntField({ ...times, optional: true }) times?: number;
  @IntField({ ...minutes, optional: true }) minutes?: number;
  @IntField({ ...hours, optional: true }) hours?: number;
  @IntField({ ...percent, optional: true }) percent?: number;
}

export class AlertRuleList {
  @ListField(() => AlertRule) alertRules!: AlertRule[];
}

export class AlertSubject {
  @EnumField(alertSubjectTypes, { example: 'workflow' }) type!: AlertSubjectType;
  @TextField({
    max: 100,
    example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e',
    description: 'Id of the resource; for a limit its name in the settings, for a queue its name.',
  })
  id!: string;
  @TextField({ max: 200, example: 'Claims', description: 'Name of the resource when the alert opened.' }) name!: string;
}

export class Alert {
  @UuidField() id!: string;
  @EnumField(alertRules, { example: 'run_failed' }) rule!: AlertRuleName;
  @ObjectField(() => AlertSubject) subject!: AlertSubject;
  @EnumField(alertStatuses, { example: 'open' }) status!: AlertStatus;
  @DateTimeField() openedAt!: string;
  @DateTimeField({ nullable: true }) resolvedAt!: string | null;
  @TextField({
    nullable: true,
    max: 254,
    example: null,
    description: 'Person or API key that acknowledged the alert; null if it is not acknowledged.',
  })
  acknowledgedBy!: string | null;
  @DateTimeField({ nullable: true }) acknowledgedAt!: string | null;
  @IntField({ example: 1, description: 'How often the condition of the rule has occurred since the alert opened.' })
  count!: number;
}

export class AlertList {
  @ListField(() => Alert) alerts!: Alert[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class AlertsQuery extends PageQuery {
  @EnumField(alertStatuses, { optional: true }) status?: AlertStatus;
  @EnumField(alertRules, { optional: true }) rule?: AlertRuleName;
}
