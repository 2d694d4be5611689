import { DateTimeField, DayField, EnumField, IntField, ListField, TextField, UsdField, UuidField } from '../fields';

const maxModelPrices = 2000;
const perMillion = { max: 10_000, description: 'USD for a million tokens.' };

export class ModelPriceInput {
  @TextField({ max: 100, example: 'openai', description: 'Compared without regard to capitals, as the model is.' })
  provider!: string;
  @TextField({ max: 200, example: 'gpt-4.1-mini' }) model!: string;
  @UsdField({ ...perMillion, example: 0.4 }) inputUsdPerMillion!: number;
  @UsdField({ ...perMillion, example: 1.6 }) outputUsdPerMillion!: number;
  @DayField({
    example: '2026-01-01',
    description: 'It holds from the beginning of this day in UTC, until a later one does.',
  })
  from!: string;
}

export class PutModelPricesBody {
  @ListField(() => ModelPriceInput, { maxItems: maxModelPrices }) prices!: ModelPriceInput[];
}

export class ModelPrice extends ModelPriceInput {
  @EnumField(['default', 'organization'], { description: 'The organization’s own go before the default ones.' })
  source!: 'default' | 'organization';
}

export class ModelPriceList {
  @ListField(() => ModelPrice, { maxItems: 2 * maxModelPrices }) prices!: ModelPrice[];
}

export class RecomputeCostsBody {
  @DayField({ example: '2026-01-01', description: 'Of the runs that ended on this day or later…' }) from!: string;
  @DayField({ example: '2026-01-31', description: '… and on this day or before, in the organization’s time zone.' })
  to!: string;
}

export class CostRecompute {
  @UuidField() recomputeId!: string;
  @DayField() from!: string;
  @DayField() to!: string;
  @EnumField(['running', 'done']) status!: 'running' | 'done';
  @IntField({ example: 412, description: 'Runs that were priced anew so far.' }) runs!: number;
  @IntField({ example: 12, description: 'Those of them that cost another amount now.' }) changed!: number;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
}
