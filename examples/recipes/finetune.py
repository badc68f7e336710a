"""Fine-tunes a language model with LoRA, by the Trainer of Hugging Face: stop it, start it again, it goes on where it was.

    python finetune.py                                                          # a tiny model that it makes itself
    torchrun --nproc-per-node 2 -- finetune.py --checkpoint-dir /tmp/lora
    shunter run finetune.py --nodes 2 --gpus 8 -- --model Qwen/Qwen3-4B --data chats.jsonl --bf16

--model is a directory or a name on the Hub, --data a file of JSON lines {"prompt": ..., "answer": ...}; the loss is of the
answers alone. Saved, and at the end in the directory `adapter`, is what LoRA adds: a few megabytes beside a model of any size.
"""

import argparse
import contextlib
import errno
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)


class Silent:
    """Stands in for progress.py where that is missing, and on all ranks but the first."""

    def nothing(self, *_, **__): ...

    __init__ = report = checkpoint = close = nothing


Progress = Silent
with contextlib.suppress(ImportError):
    from progress import Progress  # a file beside this one: shows in `shunter jobs`

parser = argparse.ArgumentParser(allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--model", help="a directory, or a name on the Hub (default: a tiny one of its own)")
parser.add_argument("--data", help='a file of JSON lines {"prompt": ..., "answer": ...} (default: sums)')
parser.add_argument("--rank", type=int, default=8, help="rank of LoRA's matrices")
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--global-batch", type=int, default=16, help="samples per step, over all ranks")
parser.add_argument(
    "--accumulate", type=int, default=1, help="forward and backward passes per step; more passes need less memory"
)
parser.add_argument("--length", type=int, default=512, help="the most tokens of a sample; longer ones are left out")
parser.add_argument("--lr", type=float, default=1e-3, help="learning rate")
parser.add_argument("--bf16", action="store_true", help="compute in bfloat16")
parser.add_argument("--checkpoint-dir", default=os.environ.get("SHUNTER_CHECKPOINT_DIR"), help="a directory that all nodes share")
parser.add_argument("--save-every", type=int, default=20, help="steps between checkpoints")
parser.add_argument("--keep", type=int, default=3, help="number of the newest checkpoints to keep")

stopping = []


def say(line):
    if int(os.environ.get("RANK", 0)) == 0:
        print(line, flush=True)


def refuse(sentence, code=2):
    say(f"error: {sentence}")
    if dist.is_initialized():
        dist.barrier()  # torchrun ends all ranks when the first exits: wait until rank 0 has said why
    sys.exit(code)


def exit_code(error):
    """2 for wrong input, with which a job of shunter-torch is not restarted; 1 for a disk or a network that failed."""
    wrong = FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError, IsADirectoryError
    cause = error.__cause__ or error
    is_input = isinstance(cause, wrong) or getattr(cause, "errno", None) == errno.EINVAL  # what torch says of a file cut short
    return 1 if isinstance(cause, OSError) and not is_input else 2


def together(work, remedy, exit_code=exit_code):
    """What `work()` returns on this rank. If it fails on one, all end: a rank that went on would wait for the others for ever."""
    result = error = None
    try:
        result = work()
    except Exception as failure:
        error = f"{str(failure).strip().partition(chr(10))[0] or repr(failure)}. {remedy}", exit_code(failure)
    errors = [error]
    if dist.is_initialized():
        errors = [None] * dist.get_world_size()
        dist.all_gather_object(errors, error)
    if any(errors):
        refuse(*next(filter(None, errors)))
    return result


def decide(work, remedy):
    """What `work()` returns on rank 0, on all ranks."""
    decision = [together(work if int(os.environ.get("RANK", 0)) == 0 else lambda: None, remedy)]
    if dist.is_initialized():
        dist.broadcast_object_list(decision, src=0)
    return decision[0]


def tiny_model():
    """A model of 0.1 million weights that knows nothing yet, and a tokenizer of single characters."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    words = {chr(code): code - 32 + 3 for code in range(32, 127)} | {"<pad>": 0, "<end>": 1, "<other>": 2}
    characters = Tokenizer(models.WordLevel(words, unk_token="<other>"))
    characters.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=characters, pad_token="<pad>", eos_token="<end>", unk_token="<other>")
    torch.manual_seed(0)
    layers = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(words), max_position_embeddings=64, **layers)), tokenizer


def read_model(name):
    if not name:
        return tiny_model()
    tokenizer = AutoTokenizer.from_pretrained(name)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return AutoModelForCausalLM.from_pretrained(name), tokenizer


def read_samples(path):
    if not path:
        return [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a in range(30) for b in range(30)]
    samples = [json.loads(line) for line in Path(path).read_text().splitlines() if line.strip()]
    for number, sample in enumerate(samples, start=1):
        if not isinstance(sample, dict) or not {"prompt", "answer"} <= set(sample):
            raise ValueError(f"--data {path}: sample {number} must have prompt and answer")
    return samples


def tokens(samples, tokenizer, length):
    """Each sample as token numbers; the prompt's have the label -100, which the loss leaves out."""
    made = []
    for sample in samples:
        prompt = tokenizer(sample["prompt"], add_special_tokens=False)["input_ids"]
        answer = [*tokenizer(sample["answer"], add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        if len(prompt) + len(answer) <= length:
            made.append({"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer})
    if not made:
        raise ValueError(f"no sample has at most {length} tokens")
    return made


def padded(samples, pad):
    """A batch: all as long as the longest."""
    longest = max(len(sample["input_ids"]) for sample in samples)

    def rows(name, fill):
        return torch.tensor([one[name] + [fill] * (longest - len(one[name])) for one in samples])

    lengths = torch.tensor([[len(one["input_ids"])] for one in samples])
    mask = (torch.arange(longest) < lengths).long()
    return {"input_ids": rows("input_ids", pad), "labels": rows("labels", -100), "attention_mask": mask}


def complete(directory):
    """The Trainer's checkpoints that are complete, newest last: when all ranks have written, the callback adds a .metadata."""
    found = [mark.parent for mark in Path(directory).glob("checkpoint-[0-9]*/.metadata")]
    return sorted(found, key=lambda place: int(place.name[11:]))


def resumable(directory):
    """The complete checkpoints. ValueError if there is none for a job that must resume, one of `shunter run --resume`."""
    found = complete(directory)
    if not found and os.environ.get("SHUNTER_MUST_RESUME"):
        raise ValueError(f"no complete checkpoint in {directory} to resume from")
    return found


def settings_of(place):
    """What a checkpoint was made with, if all of its files can be read."""
    torch.load(place / "optimizer.pt", weights_only=True)
    load_file(place / "adapter_model.safetensors")
    return json.loads((place / ".metadata").read_text())


class Keeper(TrainerCallback):
    """Tells the progress, marks complete checkpoints, and stops all ranks after the same step when one has got SIGTERM."""

    stopped = False

    def __init__(self, settings, progress):
        self.settings, self.progress = settings, progress

    def on_train_begin(self, args, state, control, **_):
        state.save_steps, state.logging_steps = args.save_steps, args.logging_steps  # not those that the checkpoint remembers

    def on_step_end(self, args, state, control, **_):
        flag = torch.tensor(len(stopping), device=args.device)
        if dist.is_initialized():
            dist.all_reduce(flag)
        self.stopped = bool(flag) and state.global_step < state.max_steps
        self.progress.report(step=state.global_step, steps=state.max_steps)
        self.step_ended = time.monotonic()
        if self.stopped:
            control.should_training_stop = True
            control.should_save = args.save_strategy != "no"
        if control.should_save and state.is_world_process_zero:  # until all ranks have written, this tells it from a complete one
            begun = self.mark(args, state).with_suffix(".new")
            begun.parent.mkdir(parents=True, exist_ok=True)
            begun.write_text(json.dumps(self.settings))

    def mark(self, args, state):
        return Path(args.output_dir, f"checkpoint-{state.global_step}", ".metadata")

    def on_save(self, args, state, control, **_):
        if dist.is_initialized():
            dist.barrier()
        if state.is_world_process_zero:
            mark = self.mark(args, state)
            mark.with_suffix(".new").replace(mark)
            self.progress.checkpoint(state.global_step, time.monotonic() - self.step_ended, args.save_steps)

    def on_log(self, args, state, control, logs, **_):
        if "loss" in logs and state.is_world_process_zero:
            self.progress.report(step=state.global_step, steps=state.max_steps, loss=float(logs["loss"]))
            print(f"step {state.global_step} loss {float(logs['loss']):.6f}", flush=True)


def main():
    args = parser.parse_args()
    if min(args.steps, args.save_every, args.keep, args.accumulate, args.rank) < 1:
        parser.error("--steps, --save-every, --keep, --accumulate and --rank must be 1 or more")
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    world = int(os.environ.get("WORLD_SIZE", 1))
    place = args.checkpoint_dir or tempfile.mkdtemp(prefix="finetune-")
    saving = {"save_strategy": "steps", "save_steps": args.save_every} if args.checkpoint_dir else {"save_strategy": "no"}
    if args.global_batch < 1 or args.global_batch % (world * args.accumulate):
        parser.error(f"--global-batch {args.global_batch} must be a multiple of {world} ranks x --accumulate {args.accumulate}")
    gpu = torch.cuda.is_available()
    arguments = TrainingArguments(  # this joins the ranks
        output_dir=place,
        use_cpu=not gpu,
        ddp_backend="gloo" if world > 1 and not gpu else None,
        dataloader_pin_memory=gpu,
        max_steps=args.steps,
        per_device_train_batch_size=args.global_batch // world // args.accumulate,
        gradient_accumulation_steps=args.accumulate,
        learning_rate=args.lr,
        lr_scheduler_type="constant",
        bf16=args.bf16,
        save_total_limit=args.keep,
        logging_steps=5,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        **saving,
    )
    if arguments.world_size != world:  # each rank would train a model of its own, and nobody would notice
        refuse(f"the Trainer has {arguments.world_size} ranks, torchrun has started {world}.")
    model, tokenizer = together(lambda: read_model(args.model), "Name another --model: a directory, or a name on the Hub.")
    samples = together(lambda: tokens(read_samples(args.data), tokenizer, args.length), "Each node needs the data.")
    torch.manual_seed(0)  # the same first LoRA weights on all ranks
    lora = LoraConfig(r=args.rank, lora_alpha=2 * args.rank, target_modules="all-linear", task_type="CAUSAL_LM")
    model = together(lambda: get_peft_model(model, lora), "LoRA does not fit this --model.")
    settings = {"model": args.model, "rank": args.rank, "samples": len(samples), "global_batch": args.global_batch}
    newest = None
    if args.checkpoint_dir and (found := decide(lambda: resumable(place), "--checkpoint-dir must be shared by all nodes.")):
        newest = found[-1]
        saved = decide(lambda: settings_of(newest), f"{newest} is damaged: remove it.")
        for name, value in settings.items():
            if saved.get(name) != value:
                refuse(f"{newest.name} was made with {name} {saved.get(name)}, this run has {value}; name another directory.")
    keeper = Keeper(settings, Progress() if arguments.process_index == 0 else Silent())
    collate = {"data_collator": lambda batch: padded(batch, tokenizer.pad_token_id), "processing_class": tokenizer}
    trainer = Trainer(model, arguments, train_dataset=samples, callbacks=[keeper], **collate)
    trainer.remove_callback(PrinterCallback)
    say(f"{world} ranks ({arguments.device.type}), from step {newest.name[11:] if newest else 0} to {args.steps}")
    trainer.train(resume_from_checkpoint=newest and str(newest))
    if keeper.stopped:
        step = trainer.state.global_step
        say(f"stopped by SIGTERM, saved step {step}" if args.checkpoint_dir else "stopped by SIGTERM, saved nothing")
        sys.exit(143)
    if args.checkpoint_dir:
        trainer.save_model(os.path.join(place, "adapter"))
    say(f"trained {args.steps} steps{', adapter in ' + os.path.join(place, 'adapter') if args.checkpoint_dir else ''}")


if __name__ == "__main__":
    main()
