/** One conversation that is followed: decides which frames count. No input or output of its own. */
export class Follower {
    handlers;
    conversation;
    deltas;
    cursor;
    live = false;
    items = [];
    constructor(conversation, after, deltas, handlers) {
        this.handlers = handlers;
        this.conversation = conversation;
        this.cursor = { epoch: 0, seq: 0, ...after };
        this.deltas = deltas;
    }
    /** Take a frame. After "gap" and "reset" it is to be followed anew from `cursor`. */
    take(frame) {
        switch (frame.type) {
            case "event":
                return this.event(frame.event);
            case "delta":
                if (frame.delta.after > this.cursor.seq)
                    return "ignored";
                this.items.push({ delta: frame.delta });
                return "kept";
            case "live":
                if ((frame.cursor.seq ?? 0) > this.cursor.seq)
                    return "gap";
                this.flush();
                this.live = true;
                this.cursor.epoch = frame.cursor.epoch ?? 0;
                this.handlers.live?.({ ...this.cursor });
                return "kept";
            case "ended":
                this.flush();
                if (frame.problem.code === "cursor-expired")
                    return this.restart();
                this.handlers.ended?.(frame.problem);
                return "ended";
            default:
                return "ignored";
        }
    }
    /** Hand on what came. */
    flush() {
        if (this.items.length === 0)
            return;
        const items = this.items;
        this.items = [];
        this.handlers.batch(items);
    }
    /** Begin anew, since the cursor means nothing to the server any more. */
    restart() {
        this.items = [];
        this.live = false;
        this.cursor = { epoch: 0, seq: 0 };
        this.handlers.reset?.();
        return "reset";
    }
    event(event) {
        if (event.seq <= this.cursor.seq)
            return "ignored";
        if (event.seq !== this.cursor.seq + 1)
            return "gap";
        this.cursor.seq = event.seq;
        if (event.type === "DurabilityChanged")
            this.cursor.epoch = event.epoch;
        this.items.push({ event });
        return "kept";
    }
}
