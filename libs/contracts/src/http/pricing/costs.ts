import {
  BooleanField,
  DateTimeField,
  DayField,
  EnumField,
  IntField,
  ListField,
  NumberField,
  ObjectField,
  TextField,
  UuidField,
} from '../fields';
import { IdleSavings } from '../agents/idle-savings';

export const costKinds = ['ai', 'compute', 'reported'] as const;
export const costUnits = ['input_token', 'output_token', 'hour', 'reported'] as const;
const costGroupings = ['day', 'workflow', 'agent', 'model', 'schedule'] as const;
export type CostGrouping = (typeof costGroupings)[number];

export class CostComponent {
  @EnumField(costKinds, {
    description: 'Kind of cost. reported: additional cost that the worker reported for the run.',
  })
  kind!: (typeof costKinds)[number];
  @TextField({ optional: true, example: 'openai' }) provider?: string;
  @TextField({ optional: true, example: 'gpt-4.1-mini' }) model?: string;
  @NumberField({ example: 812 }) quantity!: number;
  @EnumField(costUnits) unit!: (typeof costUnits)[number];
  @NumberField({
    example: 0.0000004,
    description: 'Price of one unit; the average price if it changed during the run.',
  })
  unitPriceUsd!: number;
  @NumberField({ example: 0.000325 }) amountUsd!: number;
  @BooleanField({
    optional: true,
    description:
      'true if no price of the model was set at the time of the usage, so that the amount is the cost that the run ' +
      'reported. Otherwise absent.',
  })
  unpriced?: boolean;
}

export class JobCost {
  @UuidField() jobId!: string;
  @NumberField({ example: 0.060325, description: 'Sum of the components’ amounts; equals the job’s totalCostUsd.' })
  totalUsd!: number;
  @DateTimeField({
    nullable: true,
    description: 'Time of the computation; null if the run has not ended or its cost is not computed yet.',
  })
  computedAt!: string | null;
  @ListField(() => CostComponent) components!: CostComponent[];
}

export class CostsQuery {
  @DayField({
    optional: true,
    description: 'First day of the period, in the organization’s time zone; 29 days before `to` if absent.',
  })
  from?: string;
  @DayField({ optional: true, description: 'Last day of the period; today if absent.' }) to?: string;
  @EnumField(costGroupings, { optional: true, description: 'Grouping of the costs; `day` if absent.' })
  groupBy?: CostGrouping;
}

export class CostGroup {
  @TextField({
    max: 400,
    example: '2026-01-31',
    description:
      'Key of the group: a day, the id of a workflow, an agent or a schedule, or `provider/model`. `none` is the ' +
      'group of costs that have no such key, for example no schedule. `(others)` combines the cheapest groups if ' +
      'there are too many.',
  })
  key!: string;
  @TextField({ max: 400, example: '2026-01-31', description: 'Name of the group, to be displayed.' }) label!: string;
  @IntField({ example: 42 }) runs!: number;
  @NumberField({ example: 1.25 }) aiUsd!: number;
  @NumberField({ example: 0.5 }) computeUsd!: number;
  @NumberField({ example: 0 }) reportedUsd!: number;
  @NumberField({ example: 1.75 }) totalUsd!: number;
}

export class Costs {
  @DayField() from!: string;
  @DayField() to!: string;
  @EnumField(costGroupings) groupBy!: CostGrouping;
  @NumberField({ example: 1.75 }) totalUsd!: number;
  @ListField(() => CostGroup) groups!: CostGroup[];
  @ObjectField(() => IdleSavings, {
    description:
      'Idle time of the machines on these days, and the savings of the idleStopPolicy. The cost of idle time is ' +
      'not part of the total.',
  })
  idle!: IdleSavings;
}
